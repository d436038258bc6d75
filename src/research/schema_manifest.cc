// manifest.v1: a run's own record, by the rules for reading.
#include "research/schema_kit.h"

namespace weir::research {
namespace {

void need_text(const Spot& spot, std::string_view name) { spot.need(spot.says(), std::string(name) + " missing"); }

// `count` digits of `text`, taken off it, as a number from `least` to `most`.
bool take_number(std::string_view& text, std::size_t count, int least, int most) {
  if (text.size() < count) return false;
  int value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (text[i] < '0' || text[i] > '9') return false;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(count);
  return value >= least && value <= most;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text[0] != c) return false;
  text.remove_prefix(1);
  return true;
}

bool take_clock(std::string_view& text) {
  if (!take_number(text, 2, 0, 24) || !take(text, ':') || !take_number(text, 2, 0, 59)) return false;
  if (take(text, ':') && !take_number(text, 2, 0, 59)) return false;
  if (take(text, '.')) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    if (digits == 0) return false;
    text.remove_prefix(digits);
  }
  if (take(text, 'Z') || text.empty()) return true;
  return (take(text, '+') || take(text, '-')) && take_number(text, 2, 0, 23) && take(text, ':') && take_number(text, 2, 0, 59);
}

// The date forms of ECMAScript, from a year alone to a time with an offset.
bool iso_date_ok(std::string_view text) {
  if (!take_number(text, 4, 0, 9999)) return false;
  if (take(text, '-')) {
    if (!take_number(text, 2, 1, 12)) return false;
    if (take(text, '-') && !take_number(text, 2, 1, 31)) return false;
  }
  if (take(text, 'T') && !take_clock(text)) return false;
  return text.empty();
}

void check_query(const Spot& query) {
  if (!query.need(query.is_object(), "manifest.query missing")) return;
  need_text(query["text"], "manifest.query.text");
  const Spot constraints = query["constraints"], sensitivity = query["sensitivity"];
  constraints.need(!constraints.there() || constraints.is_object(), "manifest.query.constraints must be object");
  sensitivity.need(!sensitivity.there() || sensitivity.one_of({"normal", "restricted", "no_web"}), "manifest.query.sensitivity invalid");
}

void check_history(const Spot& history) {
  history.need(history.is_array(), "manifest.stage.history must be array");
  for (std::size_t i = 0; i < history.size(); ++i) {
    const Spot step = history.at(i);
    if (!step.need(step.is_object(), "manifest.stage.history entry must be object")) continue;
    for (const std::string_view key : {"from", "to", "ts", "reason", "inputs_digest"}) {
      need_text(step[key], "stage.history." + std::string(key));
    }
    const Spot revision = step["gates_revision"];
    revision.need(revision.is_integer(), "stage.history.gates_revision invalid");
  }
}

void check_stage(const Spot& stage) {
  if (!stage.need(stage.is_object(), "manifest.stage missing")) return;
  stage["current"].need(stage["current"].one_of({"init", "perspectives", "wave1", "pivot", "wave2", "citations", "summaries", "synthesis",
                                                 "review", "finalize"}),
                        "manifest.stage.current invalid");
  need_text(stage["started_at"], "manifest.stage.started_at");
  if (const Spot progress = stage["last_progress_at"];
      progress.there() && progress.need(progress.says(), "manifest.stage.last_progress_at must be non-empty string")) {
    progress.need(iso_date_ok(progress.text()), "manifest.stage.last_progress_at must be valid ISO timestamp");
  }
  check_history(stage["history"]);
}

void check_limit_numbers(const Spot& limits) {
  if (!limits.need(limits.is_object(), "manifest.limits missing")) return;
  for (const std::string_view key :
       {"max_wave1_agents", "max_wave2_agents", "max_summary_kb", "max_total_summary_kb", "max_review_iterations"}) {
    limits[key].need(limits[key].number().has_value(), "manifest.limits." + std::string(key) + " invalid");
  }
}

void check_artifacts(const Spot& artifacts) {
  if (!artifacts.need(artifacts.is_object(), "manifest.artifacts missing")) return;
  artifacts["root"].need(artifacts["root"].text().starts_with('/'), "manifest.artifacts.root must be absolute path");
  const Spot paths = artifacts["paths"];
  if (!paths.need(paths.is_object(), "manifest.artifacts.paths missing")) return;
  for (const std::string_view key : {"wave1_dir", "wave2_dir", "citations_dir", "summaries_dir", "synthesis_dir", "logs_dir", "gates_file",
                                     "perspectives_file", "citations_file", "summary_pack_file", "pivot_file"}) {
    need_text(paths[key], "manifest.artifacts.paths." + std::string(key));
  }
}

// The limits that only Weir knows come last: what upstream would say stands before them.
void check_own_limits(const Spot& limits) {
  for (const std::string_view key : {"max_pack_json_kb", "max_synthesis_input_kb", "min_wave_rate"}) {
    limits[key].need(!limits[key].there() || limits[key].number(), "manifest.limits." + std::string(key) + " invalid");
  }
}

}  // namespace

void check_manifest(const json::Value& document, SchemaErrors& errors) {
  const Spot root(&document, "$", errors);
  if (!root.need(root.is_object(), "manifest must be an object")) return;
  root["schema_version"].need(root["schema_version"].says("manifest.v1"), "manifest.schema_version must be manifest.v1");
  for (const std::string_view key : {"run_id", "created_at", "updated_at"}) need_text(root[key], "manifest." + std::string(key));
  root["revision"].need(root["revision"].integer_from(1), "manifest.revision invalid");
  root["mode"].need(root["mode"].one_of({"quick", "standard", "deep"}), "manifest.mode invalid");
  root["status"].need(root["status"].one_of({"created", "running", "paused", "failed", "completed", "cancelled"}),
                      "manifest.status invalid");
  check_query(root["query"]);
  check_stage(root["stage"]);
  check_limit_numbers(root["limits"]);
  check_artifacts(root["artifacts"]);
  root["metrics"].need(root["metrics"].is_object(), "manifest.metrics must be object");
  root["failures"].need(root["failures"].is_array(), "manifest.failures must be array");
  if (root["limits"].is_object()) check_own_limits(root["limits"]);
}

}  // namespace weir::research
