// perspectives.v1: what the router hands in.
#include <set>

#include "research/perspectives.h"
#include "research/schema_kit.h"

namespace weir::research {
namespace {

// ---- first pass ----
void read_contract(const Spot& contract) {
  const Spot words = contract["max_words"], sources = contract["max_sources"], sections = contract["must_include_sections"];
  words.need(words.number().has_value(), "prompt_contract.max_words invalid");
  sources.need(sources.number().has_value(), "prompt_contract.max_sources invalid");
  contract["tool_budget"].need(contract["tool_budget"].is_object(), "prompt_contract.tool_budget must be object");
  sections.need(sections.is_array(), "prompt_contract.must_include_sections must be array");
  for (std::size_t i = 0; i < sections.size(); ++i) {
    sections.at(i).need(sections.at(i).says(), "prompt_contract.must_include_sections entries must be non-empty strings");
  }
}

void read_perspective(const Spot& perspective) {
  if (!perspective.need(perspective.is_object(), "perspective must be object")) return;
  perspective["id"].need(perspective["id"].says(), "perspective.id missing");
  perspective["title"].need(perspective["title"].says(), "perspective.title missing");
  perspective["track"].need(perspective["track"].one_of({"standard", "independent", "contrarian"}), "perspective.track invalid");
  perspective["agent_type"].need(perspective["agent_type"].says(), "perspective.agent_type missing");
  const Spot contract = perspective["prompt_contract"];
  if (contract.need(contract.is_object(), "perspective.prompt_contract must be object")) read_contract(contract);
}

void read_document(const Spot& document) {
  document["schema_version"].need(document["schema_version"].says("perspectives.v1"),
                                  "perspectives.schema_version must be perspectives.v1");
  document["run_id"].need(document["run_id"].says(), "perspectives.run_id missing");
  document["created_at"].need(document["created_at"].says(), "perspectives.created_at missing");
  const Spot list = document["perspectives"];
  list.need(list.is_array(), "perspectives.perspectives must be array");
  for (std::size_t i = 0; i < list.size(); ++i) read_perspective(list.at(i));
}

// ---- second pass: speaks of nothing that the first one has named already ----
void write_contract(const Spot& contract) {
  const Spot words = contract["max_words"], sources = contract["max_sources"], budget = contract["tool_budget"];
  words.need(!words.number() || words.integer_from(1), "prompt_contract.max_words invalid");
  sources.need(!sources.number() || sources.integer_from(0), "prompt_contract.max_sources invalid");
  if (!budget.is_object()) return;
  for (const json::Member& member : budget.value()->members()) {
    const Spot tool = budget.named(member);
    tool.need(tool.integer_from(0), "prompt_contract.tool_budget invalid");
  }
}

// An array, and `check` of each of its items.
template <typename Check>
void write_list(const Spot& list, std::string_view message, Check&& check) {
  list.need(list.is_array(), message);
  for (std::size_t i = 0; i < list.size(); ++i) check(list.at(i));
}

void write_options(const Spot& perspective) {
  if (const Spot platforms = perspective["expected_platforms"]; platforms.there()) {
    write_list(platforms, "perspective.expected_platforms invalid",
               [](const Spot& name) { name.need(name.says(), "perspective.expected_platforms invalid"); });
  }
  if (const Spot requirements = perspective["platform_requirements"]; requirements.there()) {
    write_list(requirements, "perspective.platform_requirements invalid", [](const Spot& requirement) {
      if (!requirement.need(requirement.is_object(), "perspective.platform_requirements invalid")) return;
      requirement["name"].need(requirement["name"].says(), "platform_requirements.name invalid");
      requirement["reason"].need(requirement["reason"].says(), "platform_requirements.reason invalid");
    });
  }
  if (const Spot policy = perspective["tool_policy"];
      policy.there() && policy.need(policy.is_object(), "perspective.tool_policy invalid")) {
    for (const std::string_view part : {"primary", "secondary", "forbidden"}) {
      policy[part].need(policy[part].all_text(), "tool_policy." + std::string(part) + " invalid");
    }
  }
  if (const Spot artifact = perspective["source_artifact"]; artifact.there()) {
    const std::string_view path = artifact.text();
    const bool confined = !artifact.is_text() || confined_path(path);
    artifact.need(confined, "perspective.source_artifact invalid", ErrorCode::PATH_TRAVERSAL);
    const bool in_wave = path.starts_with("wave-1/") || path.starts_with("wave-2/");
    if (confined) artifact.need(in_wave, "perspective.source_artifact invalid");
  }
}

class WritePass {
 public:
  WritePass(const PerspectiveRules& rules, std::vector<std::string>& warnings) : rules_(rules), warnings_(warnings) {}

  void document(const Spot& document) {
    const Spot run = document["run_id"], created = document["created_at"], list = document["perspectives"];
    run.need(!run.says() || run.says(rules_.run_id), "perspectives.run_id invalid", ErrorCode::INVALID_STATE);
    created.need(!created.says() || utc_time_ok(created.text()), "perspectives.created_at invalid");
    list.need(!list.is_array() || list.size() > 0, "perspectives list is empty");
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list.at(i).is_object()) perspective(list.at(i));
    }
  }

 private:
  void perspective(const Spot& perspective) {
    const Spot id = perspective["id"], agent = perspective["agent_type"];
    if (id.says() && id.need(perspective_id_ok(id.text()), "perspective.id invalid")) {
      id.need(ids_.insert(folded_id(id.text())).second, "perspective.id invalid", ErrorCode::DUPLICATE_PERSPECTIVE_ID);
    }
    if (agent.says()) agent_type(agent);
    if (perspective["prompt_contract"].is_object()) write_contract(perspective["prompt_contract"]);
    write_options(perspective);
  }

  void agent_type(const Spot& agent) {
    if (rules_.agents != nullptr) {
      const auto& known = *rules_.agents;
      agent.need(std::find(known.begin(), known.end(), agent.text()) != known.end(), "perspective.agent_type unknown");
    } else if (!warned_) {
      warned_ = true;
      warnings_.push_back("AGENT_TYPE_UNCHECKED");
    }
  }

  const PerspectiveRules& rules_;
  std::vector<std::string>& warnings_;
  std::set<std::string> ids_;  // in lower case: they are file names, also where those have no case
  bool warned_ = false;
};

}  // namespace

void check_perspectives(const json::Value& document, Pass pass, const PerspectiveRules& rules, SchemaErrors& errors,
                        std::vector<std::string>& warnings) {
  const Spot root(&document, "$", errors);
  if (!root.need(root.is_object(), "perspectives must be an object")) return;
  read_document(root);
  if (pass == Pass::write) WritePass(rules, warnings).document(root);
}

}  // namespace weir::research
