#include "research/fold.h"

#include <algorithm>

#include "json/canonical.h"
#include "json/layout.h"
#include "json/parse.h"
#include "research/perspectives.h"
#include "research/schema.h"
#include "research/url.h"
#include "session/bodies.h"
#include "session/fold_engine.h"
#include "session/types.h"

namespace weir::research {

using json::Value;

namespace {

std::string text_of(const Value& body, std::string_view key) { return std::string(body.text_or(key, "")); }

std::uint64_t number_of(const Value& body, std::string_view key) {
  const Value* value = body.find(key);
  return value != nullptr && value->is_integer() && value->integer() > 0 ? static_cast<std::uint64_t>(value->integer()) : 0;
}

bool is_true(const Value* value) { return value != nullptr && value->is_boolean() && value->boolean(); }

// What a step has at hand.
struct Step {
  State& state;
  const Entry& entry;
  const Value& body;
  json::Arena& arena;
  Place place() const { return {entry.seq, entry.at}; }
  const Value* extra(std::string_view key) const {
    const Value* found = body.find("extra");
    return found == nullptr ? nullptr : found->find(key);
  }
};

// Keeps the parts of a body that are named, as canonical text.
std::string kept(const Step& in, std::initializer_list<std::string_view> keys) {
  json::ObjectBuilder out(in.arena);
  for (const std::string_view key : keys) {
    const Value* value = in.body.find(key);
    out.add(key, value == nullptr ? Value() : *value);
  }
  return json::canonical(out.build());
}

// The artifact was accepted: what it was asked to be is done.
void consume(Step& in, std::string_view artifact) {
  bool any = false, open = false;
  for (auto& directive : in.state.directives) {
    if (directive->artifact == artifact && !directive->consumed) {
      Directive done = *directive;
      done.consumed = true;
      directive = std::make_shared<const Directive>(std::move(done));
      any = true;
    }
    open = open || !directive->consumed;
  }
  if (any && !open) in.state.directives_consumed = in.entry.at;
}

void start(Step& in) {
  State& s = in.state;
  s = State();
  s.started = true;
  s.run_id = text_of(in.body, "run_id");
  s.created = s.stage_started = s.gates_updated = in.entry.at;
  s.started_entry = s.gates_entry = in.entry.seq;
  if (const Value* head = in.extra("head"); head != nullptr && head->is_string()) s.head = head->text();
  json::ObjectBuilder manifest(in.arena);
  for (const std::string_view key : {"query", "mode", "limits"}) manifest.add_if(key, in.body.find(key));
  manifest.add("status", "created");
  if (const Value* more = in.extra("manifest"); more != nullptr) {
    for (const json::Member& member : more->members()) manifest.add(member.key, member.value);
  }
  s.manifest = json::canonical(manifest.build());
}

void patch(Step& in) {
  json::Parser parser;
  const auto manifest = parser.parse_stored(in.state.manifest);
  const Value* changes = in.body.find("patch");
  if (!manifest.ok() || changes == nullptr) return;
  const bool was_failed = manifest->text_or("status", "") == "failed";
  const Value merged = merge_patch(*manifest, *changes, in.arena);
  in.state.manifest = json::canonical(merged);
  const std::string_view status = merged.text_or("status", "");
  // Set running again, the run has its tries anew only if the limit allows more; a report that passed is asked for again.
  if (was_failed && status != "failed") in.state.terminal.reset();
}

void set_status(Step& in, std::string_view status) {
  json::Parser parser;
  const auto manifest = parser.parse_stored(in.state.manifest);
  if (!manifest.ok()) return;
  in.state.manifest = json::canonical(merge_patch(*manifest, json::make_object(in.arena, {{"status", status}}), in.arena));
}

// A member that is there, in the entry or as a blob.
bool has(const Step& in, std::string_view key, json::Kind kind) {
  const Value* value = in.body.find(key);
  return value != nullptr && (value->kind() == kind || value->find("$blob") != nullptr);
}

bool has_digest(const Step& in, std::string_view key) { return in.body.text_or(key, "").starts_with("sha256:"); }

void perspectives(Step& in) {
  if (!has(in, "document", json::Kind::object) || !has_digest(in, "sha256")) return;
  const std::size_t wave = number_of(in.body, "wave") == 2 ? 1 : 0;
  in.state.perspectives[wave] = PerspectivesFile{in.place(), text_of(in.body, "sha256"), number_of(in.body, "bytes")};
  if (status_of(in.state) == "created") set_status(in, "running");
}

void output(Step& in) {
  Output out;
  out.wave = number_of(in.body, "wave") == 2 ? 2 : 1;
  out.path = text_of(in.body, "path");
  out.sha256 = text_of(in.body, "sha256");
  out.bytes = number_of(in.body, "bytes");
  const std::string id = text_of(in.body, "perspective_id");
  if (!perspective_id_ok(id) || out.path != output_path(out.wave, id) || !has(in, "text", json::Kind::string) || !has_digest(in, "sha256"))
    return;
  out.meta = kept(in, {"prompt_digest", "agent_run_id", "model", "tool_usage"});
  out.place = in.place();
  consume(in, out.path);
  in.state.outputs.set(id, std::make_shared<const Output>(std::move(out)));
}

std::shared_ptr<const Record> recorded(const Step& in, const Value& value) {
  auto out = std::make_shared<Record>();
  out->text = json::canonical(value);
  out->place = in.place();
  out->citation.cid = text_of(value, "cid");
  out->citation.status = text_of(value, "status");
  const auto take = [&](std::string_view key, std::optional<std::string>& into) {
    if (const Value* text = value.find(key); text != nullptr && text->is_string()) into = text->text();
  };
  take("evidence_snippet", out->citation.snippet);
  take("title", out->citation.title);
  take("publisher", out->citation.publisher);
  json::ObjectBuilder shown(in.arena);
  for (const json::Member& member : value.members()) shown.add(member.key, member.value);
  if (value.find("checked_at") == nullptr) shown.add("checked_at", in.arena.copy(format_time(in.entry.at)));
  out->line = json::write_line(shown.build(), layout_of(Document::citation));
  return out;
}

void citations(Step& in) {
  State& s = in.state;
  if (is_true(in.extra("extracted"))) {
    s.extracted = in.place();
    s.extracted_outputs = s.outputs;
    for (const int wave : {0, 1}) s.extracted_perspectives[wave] = s.perspectives[wave];
  }
  const Value* records = in.body.find("records");
  if (records == nullptr || records->items().empty()) return;
  for (const Value& record : records->items()) {
    // One whose id is not the hash of its URL came from elsewhere, and enters no pool.
    const std::string url = text_of(record, "normalized_url");
    if (cid_of(url) == record.text_or("cid", "")) s.records.set(TKey{url}, recorded(in, record));
  }
  s.records_changed = in.place();
}

void summary(Step& in) {
  Summary out;
  out.path = text_of(in.body, "path");
  out.sha256 = text_of(in.body, "sha256");
  out.bytes = number_of(in.body, "bytes");
  const std::string id = text_of(in.body, "perspective_id");
  const bool placed = confined_path(out.path) && out.path.starts_with("summaries/") && out.path.find('/', 10) == std::string::npos;
  if (!perspective_id_ok(id) || !placed || !has(in, "text", json::Kind::string) || !has_digest(in, "sha256")) return;
  const Value* truncated = in.body.find("truncated");
  out.truncated = truncated != nullptr && !truncated->is_null();
  const Value* numbers = in.extra("numbers");
  out.numbers_warn = numbers != nullptr && numbers->is_string() && numbers->text() == "warn";
  out.place = in.place();
  consume(in, out.path);
  in.state.summaries.set(id, std::make_shared<const Summary>(std::move(out)));
}

void pack(Step& in) {
  if (!has(in, "pack", json::Kind::object) || !has_digest(in, "digest")) return;
  in.state.pack = PackBuilt{in.place(), text_of(in.body, "digest"), number_of(in.body, "bytes"), is_true(in.body.find("allow_missing"))};
}

void gate(Step& in) {
  State& s = in.state;
  const int index = gate_index(in.body.text_or("gate", ""));
  ++s.gates_revision;
  s.gates_updated = in.entry.at;
  s.gates_entry = in.entry.seq;
  if (index < 0) return;
  GateResult result{in.place(), text_of(in.body, "status"), text_of(in.body, "inputs_digest"),
                    kept(in, {"checks", "metrics", "reasons", "warnings"})};
  s.newest_inputs_digest = result.inputs_digest;
  if (result.status == "pass" && index == 2) consume(in, "citations/citations.jsonl");
  if (result.status == "pass" && index == 3) {
    // A directive to the largest of summaries that are together too large is done once they fit.
    for (const auto& directive : std::vector(s.directives)) {
      if (directive->gate == "D") consume(in, directive->artifact);
    }
  }
  s.gates[index] = std::move(result);
}

void retry(Step& in) {
  State& s = in.state;
  const Value* list = in.body.find("directives");
  if (list == nullptr) return;
  if (std::all_of(s.directives.begin(), s.directives.end(), [](const auto& one) { return one->consumed; })) s.directives.clear();
  for (const Value& value : list->items()) {
    Directive made{json::canonical(value), text_of(value, "gate"), text_of(value, "artifact"), text_of(value, "refused_sha256"), false};
    const std::string key = made.gate + " " + made.artifact;
    const auto directive = std::make_shared<const Directive>(std::move(made));
    std::erase_if(s.directives, [&](const auto& one) { return one->gate == directive->gate && one->artifact == directive->artifact; });
    s.directives.push_back(directive);
    Retries& retries = s.retries[key];
    retries.given.push_back({directive->refused, directive});
    std::int64_t& count = s.retry_counts[directive->gate];
    count = std::max(count, static_cast<std::int64_t>(retries.given.size()));
    const Value* why = in.extra("reason");
    s.retry_history.push_back({in.entry.at, directive->gate, text_of(value, "change_note"),
                               why != nullptr && why->is_string() ? std::string(why->text()) : text_of(value, "blocking_error_code"),
                               static_cast<std::int64_t>(retries.given.size())});
  }
  s.directives_made = in.place();
  s.directives_stage = s.stage;
  s.directives_consumed.reset();
}

void bundle(Step& in) {
  if (!in.state.pack || !has_digest(in, "sha256")) return;
  in.state.bundle = BundleWritten{in.place(), text_of(in.body, "sha256"), text_of(in.body, "gate_d_digest"), number_of(in.body, "bytes")};
}

void check(Step& in) {
  State& s = in.state;
  const std::string sha256 = text_of(in.body, "sha256");
  const bool passed = in.body.text_or("status", "") == "pass";
  if (!has_digest(in, "sha256") || (passed && !has(in, "text", json::Kind::string))) return;
  if (passed) {
    s.report = in.place();
    s.report_sha256 = sha256;
    consume(in, "synthesis/final-synthesis.md");
    set_status(in, "completed");
    return;
  }
  if (std::find(s.failed_reports.begin(), s.failed_reports.end(), sha256) == s.failed_reports.end()) s.failed_reports.push_back(sha256);
  if (is_true(in.extra("terminal"))) {
    s.terminal = in.place();
    set_status(in, "failed");
  }
}

struct Rule {
  std::string_view type;
  void (*step)(Step&);
};
constexpr Rule kRules[] = {
    {"RESEARCH_STARTED", start},      {"RESEARCH_PATCHED", patch},      {"PERSPECTIVES_WRITTEN", perspectives},
    {"WAVE_OUTPUT_INGESTED", output}, {"CITATION_RECORDED", citations}, {"SUMMARY_INGESTED", summary},
    {"SUMMARY_PACK_BUILT", pack},     {"GATE_EVALUATED", gate},         {"RETRY_DIRECTED", retry},
    {"BUNDLE_WRITTEN", bundle},       {"SYNTHESIS_CHECKED", check},
};

const Rule* rule_of(std::string_view type) {
  const auto* found = std::find_if(std::begin(kRules), std::end(kRules), [&](const Rule& rule) { return rule.type == type; });
  return found == std::end(kRules) ? nullptr : found;
}

}  // namespace

bool begins_run(std::string_view type, const Value& body) {
  const Value* query = body.find("query");
  return type == kRules[0].type && !body.text_or("run_id", "").empty() && query != nullptr && query->is_object();
}

bool is_research_type(std::string_view type) { return rule_of(type) != nullptr; }

Result<void> Fold::step(State& state, const Entry& entry) {
  const Rule* rule = rule_of(entry.type);
  if (rule == nullptr) return {};
  json::Parser parser;
  TRY(const Value body, stored_body(parser, entry));
  const bool starts = rule->step == start;
  // A run begins once, and before everything else of it.
  if (starts == state.started || (starts && !begins_run(entry.type, body))) return {};
  Step in{state, entry, body, parser.arena()};
  rule->step(in);
  state.updated = entry.at;
  state.last_entry = entry.seq;
  // One call is one revision: all its entries but the last say that there is more.
  if (!is_true(in.extra("more"))) ++state.revision;
  if (const Value* to = in.extra("stage"); to != nullptr && to->is_string() && to->text() != state.stage) {
    const Value* reason = in.extra("reason");
    if (reason == nullptr) reason = body.find("reason");
    state.stage_history.push_back({state.stage, std::string(to->text()),
                                   reason != nullptr && reason->is_string() ? std::string(reason->text()) : entry.type,
                                   "sha256:" + entry.digest.hex(), entry.at, state.gates_revision});
    state.stage = to->text();
    state.stage_started = entry.at;
  }
  return {};
}

std::size_t Fold::bytes(const State& state) {
  return 4096 + state.manifest.size() + state.outputs.size() * 400 + state.summaries.size() * 300 + state.records.size() * 800 +
         state.directives.size() * 1000 + state.stage_history.size() * 300 + state.retry_history.size() * 300;
}

}  // namespace weir::research

template class weir::FoldEngine<weir::research::Fold>;
