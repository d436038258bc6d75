// Steps that begin a run, patch its manifest, and say what it studies.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "json/canonical.h"
#include "json/error_value.h"
#include "json/layout.h"
#include "research/schema.h"
#include "research/white_space.h"
#include "service/research.h"
#include "service/research_text.h"

namespace weir {

using json::Value;
using research::SchemaErrors;

namespace {

constexpr std::pair<std::string_view, double> kDefaults[] = {
    {"max_wave1_agents", 6}, {"max_wave2_agents", 6}, {"max_summary_kb", 5}, {"max_total_summary_kb", 60}, {"max_review_iterations", 4}};

constexpr std::string_view kLimits[] = {"max_wave1_agents",      "max_wave2_agents", "max_summary_kb",         "max_total_summary_kb",
                                        "max_review_iterations", "max_pack_json_kb", "max_synthesis_input_kb", "min_wave_rate"};

Result<void> check_choice(std::string_view name, const std::optional<std::string>& value, std::initializer_list<std::string_view> choices) {
  if (!value || std::find(choices.begin(), choices.end(), *value) != choices.end()) return {};
  std::string list;
  for (const std::string_view choice : choices) list += (list.empty() ? "" : ", ") + std::string(choice);
  return wrong_argument("--" + std::string(name) + " must be one of " + list + ", is '" + masked_excerpt(*value, 40) + "'")
      .with(std::string(name), masked_excerpt(*value, 40));
}

// The query goes into the bundle as it is: it must not look like its frame.
Result<void> check_frame(std::string_view text) {
  if (!text.starts_with("<<<weir:") && text.find("\n<<<weir:") == std::string_view::npos) return {};
  return Error(ErrorCode::RESERVED_LINE, "a line of the query begins with <<<weir:, which frames the bundle");
}

Result<Value> limits_value(const std::vector<std::pair<std::string, std::string>>& given, json::Arena& arena) {
  json::ObjectBuilder out(arena);
  for (auto it = given.rbegin(); it != given.rend(); ++it) {
    if (std::find(std::begin(kLimits), std::end(kLimits), it->first) == std::end(kLimits))
      return wrong_argument("there is no limit '" + masked_excerpt(it->first, 40) + "'; there are " +
                            fmt::format("{}", fmt::join(kLimits, ", ")))
          .with("limit", masked_excerpt(it->first, 40));
    double number = 0;
    const auto [end, error] = std::from_chars(it->second.data(), it->second.data() + it->second.size(), number);
    if (error != std::errc() || end != it->second.data() + it->second.size() || !std::isfinite(number))
      return wrong_argument("the limit " + masked_excerpt(it->first, 40) + " must be a number, is '" + masked_excerpt(it->second, 40) + "'")
          .with("limit", masked_excerpt(it->first, 40));
    const auto whole = static_cast<std::int64_t>(number);
    out.add(arena.copy(it->first), static_cast<double>(whole) == number ? Value(whole) : Value(number));
  }
  for (const auto& [name, value] : kDefaults) out.add(name, static_cast<std::int64_t>(value));
  return out.build();
}

json::ObjectBuilder& add_committed(json::ObjectBuilder& out, const ResearchRun::Committed& now, json::Arena& arena) {
  return out.add("revision", now.revision).add("status", arena.copy(now.status)).add("stage", arena.copy(now.stage));
}

Result<ResearchAnswer> begun_already(ResearchRun& run, const Value& body, json::Arena& arena) {
  TRY_DO(run.settle());
  for (const std::string_view key : {"query", "mode", "limits"}) {
    TRY(const Value had, run.contents().member(run.state().started_entry, key, arena));
    const Value* given = body.find(key);
    if (given == nullptr || had == *given) continue;
    return Error(ErrorCode::ALREADY_EXISTS_CONFLICT, "the run '" + run.call().run.str() + "' was begun with another " + std::string(key) +
                                                         "; choose another --run, or change it with --patch")
        .with("run_id", run.call().run.str())
        .with("field", std::string(key));
  }
  json::ObjectBuilder out(arena);
  out.add("ok", true).add("created", false).add("run_id", run.state().run_id).add("root", run.call().root);
  add_committed(out, run.as_it_is(), arena).add("warnings", json::make_array(arena, {}));
  return ResearchAnswer{json::canonical(out.build()), true};
}

// Nobody else's files may be in the way.
Result<void> check_place(ResearchRun& run) {
  TRY(const bool there, run.dir().open());
  if (!there) return {};
  TRY(const auto files, run.dir().list());
  std::vector<std::string> own;
  for (const std::string& path : files) {
    TRY(const research::RunFile file, run.dir().read(path));
    TRY(const bool known, file.kind == research::RunFile::Kind::file ? run.ever_held(path, file.bytes) : Result<bool>(false));
    if (known) own.push_back(path);
  }
  if (own.size() == files.size()) {
    // The head was moved to before the run began: what lies here is what the log can make again.
    for (const std::string& path : own) {
      if (!run.call().dry_run) TRY_DO(run.dir().remove(path));
    }
    return {};
  }
  TRY_DO(run.check_still());
  const bool upstream = std::find(files.begin(), files.end(), "manifest.json") != files.end();
  return Error(ErrorCode::ALREADY_EXISTS_CONFLICT,
               "the directory '" + run.call().root + "' holds something else (" + files.front() + ", ...); " +
                   (upstream ? "`--adopt` takes over a run that another tool made" : "choose another --run or --run-root"))
      .with("root", run.call().root)
      .with("file", files.front());
}

}  // namespace

std::string new_run_id(Clock& clock, Random& random) {
  std::string time;
  for (const char c : format_time(clock.now()).substr(0, 19)) {
    if (c >= '0' && c <= '9') time += c;
  }
  std::string tail;
  for (std::uint64_t number = random.next(), i = 0; i < 6; ++i, number /= 36) tail += "0123456789abcdefghijklmnopqrstuvwxyz"[number % 36];
  return "dr_" + time + "_" + tail;
}

Result<ResearchAnswer> research_init(Service& service, const RunCall& call, const ResearchBegin& begin) {
  if (research::is_blank(begin.query)) return wrong_argument("--query says what is to be studied; it must not be blank");
  TRY_DO(check_choice("mode", begin.mode, {"quick", "standard", "deep"}));
  TRY_DO(check_choice("sensitivity", begin.sensitivity, {"normal", "restricted", "no_web"}));
  json::Arena arena;
  TRY(const std::string query, take_text(service, begin.query, "the query"));
  TRY_DO(check_short(query, "the query"));
  TRY_DO(check_frame(query));
  TRY(const Value limits, limits_value(begin.limits, arena));
  SchemaErrors errors;
  check_limits(limits, errors);
  TRY_DO(errors.result());
  json::ObjectBuilder asked(arena);
  asked.add("text", arena.copy(query));
  if (begin.sensitivity) asked.add("sensitivity", *begin.sensitivity);
  return research_step<ResearchAnswer>(service, call, true, [&](ResearchRun& run) -> Result<ResearchAnswer> {
    json::ObjectBuilder extra(arena);
    extra.add("head", arena.copy(run.head().str()));
    const Value body = json::make_object(arena, {{"run_id", call.run.str()},
                                                 {"query", asked.build()},
                                                 {"mode", arena.copy(begin.mode.value_or("standard"))},
                                                 {"limits", limits},
                                                 {"extra", extra.build()}});
    if (run.state().started) return begun_already(run, body, arena);
    TRY_DO(check_place(run));
    if (call.expect_revision && *call.expect_revision != 0) TRY_DO(run.check_open());
    if (!call.dry_run) TRY_DO(run.dir().make());
    TRY(const auto now, run.commit({{"RESEARCH_STARTED", body}}, arena));
    json::ObjectBuilder out(arena);
    out.add("ok", true).add("created", true).add("run_id", call.run.str()).add("root", call.root);
    add_committed(out, now, arena).add("limits", limits).add("warnings", json::make_array(arena, {}));
    return ResearchAnswer{json::canonical(out.build()), true};
  });
}

namespace {

// Fields that stay what they are, wherever a patch touches them.
std::vector<std::string> immutable_paths(const Value& patch) {
  std::vector<std::string> out;
  for (const json::Member& member : patch.members()) {
    if (member.key == "artifacts") {
      if (!member.value.is_object() || member.value.members().empty()) out.emplace_back("$.artifacts");
      for (const json::Member& below : member.value.members()) out.push_back("$.artifacts." + std::string(below.key));
    }
    for (const std::string_view fixed : {"schema_version", "run_id", "created_at", "updated_at", "revision"}) {
      if (member.key == fixed) out.push_back("$." + std::string(fixed));
    }
  }
  return out;
}

// Which status a caller may ask for.
Result<void> check_status(const ResearchRun& run, const Value& patch) {
  const Value* asked = patch.find("status");
  if (asked == nullptr || !asked->is_string()) return {};
  const std::string now = research::status_of(run.state()), to(asked->text());
  const bool passed = run.state().stage == "finalize";
  if (to == now || (to == "completed" ? passed : to != "failed" || !run.state().report)) return {};
  return Error(ErrorCode::INVALID_STATE,
               "a run that is " + now + " cannot be set to " + to + ": it is completed when its report passes the check")
      .with("status", now)
      .with("asked", to);
}

}  // namespace

Result<ResearchAnswer> research_patch(Service& service, const RunCall& call, const std::string& text) {
  json::Arena arena;
  TRY(const Value patch, take_document(service, text, "the patch", arena));
  if (!patch.is_object()) return wrong_argument("the patch must be a JSON object");
  TRY_DO(check_strings(patch, "the patch"));
  if (const Value* query = patch.find("query")) TRY_DO(check_frame(query->text_or("text", "")));
  return research_step<ResearchAnswer>(service, call, false, [&](ResearchRun& run) -> Result<ResearchAnswer> {
    TRY_DO(run.check_open(true));
    TRY_DO(run.settle());
    if (const auto paths = immutable_paths(patch); !paths.empty())
      return Error(ErrorCode::IMMUTABLE_FIELD, "patch attempts to modify immutable manifest fields")
          .with("paths", json::json_detail(texts_value(paths, arena)));
    SchemaErrors errors;
    if (const Value* limits = patch.find("limits"); limits != nullptr && limits->is_object()) {
      json::ObjectBuilder set(arena);
      for (const json::Member& member : limits->members()) {
        if (std::find(std::begin(kLimits), std::end(kLimits), member.key) == std::end(kLimits))
          return wrong_argument("there is no limit '" + masked_excerpt(member.key, 40) + "'").with("limit", masked_excerpt(member.key, 40));
        if (!member.value.is_null()) set.add(member.key, member.value);
      }
      check_limits(set.build(), errors);
    }
    TRY_DO(errors.result());
    TRY(const Value before, research::manifest_value(run.state(), call.root, arena));
    check_manifest(research::merge_patch(before, patch, arena), errors);
    TRY_DO(errors.result());
    TRY_DO(check_status(run, patch));
    // The stage follows from the gates, and what retries left in the metrics from the log: nobody sets them.
    json::ObjectBuilder taken(arena);
    std::vector<std::string> ignored;
    for (const json::Member& member : patch.members()) {
      if (member.key == "stage") {
        ignored.emplace_back("$.stage");
      } else {
        taken.add(member.key, member.value);
      }
    }
    const Value body =
        json::make_object(arena, {{"patch", taken.build()}, {"reason", run.call().reason.empty() ? Value() : Value(run.call().reason)}});
    TRY(const auto now, run.commit({{"RESEARCH_PATCHED", body}}, arena));
    json::ObjectBuilder out(arena);
    out.add("ok", true).add("run_id", call.run.str()).add("new_revision", now.revision).add("updated_at", arena.copy(format_time(now.at)));
    add_committed(out, now, arena).add("ignored", texts_value(ignored, arena));
    return ResearchAnswer{json::canonical(out.build()), true};
  });
}

namespace {

// The ids of both waves are disjoint, without regard to case.
Result<void> check_other_wave(ResearchRun& run, const Value& document, int wave) {
  TRY(const research::Perspectives* known, run.perspectives());
  std::set<std::string> others;
  for (const research::Perspective& one : known->all()) {
    if (one.wave != wave) others.insert(research::folded_id(one.id));
  }
  SchemaErrors errors;
  const auto list = document.find("perspectives")->items();
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!others.contains(research::folded_id(list[i].text_or("id", "")))) continue;
    errors.add(fmt::format("$.perspectives[{}].id", i), "perspective.id is taken by the other wave", ErrorCode::DUPLICATE_PERSPECTIVE_ID);
  }
  return errors.result();
}

}  // namespace

Result<ResearchAnswer> research_perspectives(Service& service, const RunCall& call, int wave, const std::string& text,
                                             const std::vector<std::string>& agents) {
  json::Arena arena;
  TRY(const Value document, take_document(service, text, "the perspectives", arena));
  return research_step<ResearchAnswer>(service, call, false, [&](ResearchRun& run) -> Result<ResearchAnswer> {
    TRY_DO(run.check_open());
    TRY_DO(run.settle());
    SchemaErrors errors;
    std::vector<std::string> warnings;
    check_perspectives(document, research::Pass::write, {run.state().run_id, agents.empty() ? nullptr : &agents}, errors, warnings);
    TRY_DO(errors.result());
    TRY_DO(check_other_wave(run, document, wave));
    const auto count = static_cast<std::int64_t>(document.find("perspectives")->items().size());
    const std::int64_t cap = wave == 2 ? run.limits().max_wave2_agents : run.limits().max_wave1_agents;
    if (count > cap)
      return Error(ErrorCode::WAVE_CAP_EXCEEDED, fmt::format("{} perspectives, the limit of wave {} is {}", count, wave, cap))
          .with("cap", cap)
          .with("count", count);
    const std::string path = research::perspectives_path(wave);
    TRY_DO(run.dir().check_directory(wave == 2 ? "wave-2" : ""));
    const std::string file = json::write_document(document, research::layout_of(research::Document::perspectives));
    const std::string sha256 = research::sha256_name(file);
    const auto& had = run.state().perspectives[wave - 1];
    const bool changed = !had || had->sha256 != sha256;
    auto now = run.as_it_is();
    if (changed) {
      const Value body = json::make_object(arena, {{"wave", wave}, {"document", document}, {"sha256", sha256}, {"bytes", file.size()}});
      TRY(now, run.commit({{"PERSPECTIVES_WRITTEN", body}}, arena));
    } else {
      TRY_DO(run.restore({path}));
    }
    json::ObjectBuilder out(arena);
    out.add("ok", true).add("run_id", call.run.str()).add("wave", wave).add("count", count).add("path", arena.copy(path));
    out.add("sha256", arena.copy(sha256)).add("bytes", file.size()).add("changed", changed);
    add_committed(out, now, arena).add("warnings", texts_value(warnings, arena));
    return ResearchAnswer{json::canonical(out.build()), true};
  });
}

}  // namespace weir
