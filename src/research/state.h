// What a research run has come to at one entry of its path: the state of the research fold. Texts stay in the log; the state
// knows their hashes and where they are.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "json/value.h"
#include "research/citations.h"
#include "research/t_order.h"
#include "session/plist.h"
#include "session/pmap.h"
#include "store/entry.h"

namespace weir::research {

// A key of a map that lists in T-order.
struct TKey {
  std::string text;
  friend bool operator<(const TKey& a, const TKey& b) { return compare_t(a.text, b.text) < 0; }
  friend bool operator<(const TKey& a, std::string_view b) { return compare_t(a.text, b) < 0; }
  friend bool operator<(std::string_view a, const TKey& b) { return compare_t(a, b.text) < 0; }
};

// Where in the log something stands, and since when.
struct Place {
  Seq entry = 0;
  TimeMs at;
};

struct PerspectivesFile {
  Place place;
  std::string sha256;  // `sha256:<hex>`, as everywhere here
  std::uint64_t bytes = 0;
};

struct Output {
  int wave = 1;
  std::string path, sha256;
  std::uint64_t bytes = 0;
  std::string meta;  // canonical: prompt_digest, agent_run_id, model, tool_usage
  Place place;
};

struct Summary {
  std::string path, sha256;
  std::uint64_t bytes = 0;
  bool truncated = false, numbers_warn = false;
  Place place;
};

struct Record {
  std::string text;  // canonical, as it was recorded: without the time that Weir's clock gave it
  std::string line;  // as its file shows it
  Citation citation;
  Place place;
};

struct PackBuilt {
  Place place;
  std::string digest;
  std::uint64_t bytes = 0;
  bool allow_missing = false;
};

struct GateResult {
  Place place;
  std::string status, inputs_digest;
  std::string shown;  // canonical: checks, metrics, reasons, warnings
};

struct BundleWritten {
  Place place;
  std::string sha256, gate_d_digest;
  std::uint64_t bytes = 0;
};

struct Directive {
  std::string text;  // canonical, without `consumed`
  std::string gate, artifact, refused;
  bool consumed = false;
};

// Refusals of one artifact under one gate: what was refused, and with what directive, oldest first.
struct Retries {
  struct One {
    std::string refused;
    std::shared_ptr<const Directive> directive;
  };
  std::vector<One> given;
};

struct StageMove {
  std::string from, to, reason, entry_digest;
  TimeMs at;
  std::uint64_t gates_revision = 0;
};

struct RetryNote {
  TimeMs at;
  std::string gate, note, reason;
  std::int64_t attempt = 0;
};

struct State {
  // So many maps are copied and destroyed in code that is compiled once, in the .cc.
  State();
  State(const State&);
  State(State&&) noexcept;
  State& operator=(const State&);
  State& operator=(State&&) noexcept;
  ~State();

  // RESEARCH_STARTED
  bool started = false;
  std::string run_id, head;
  TimeMs created, updated, gates_updated;
  std::string manifest;  // canonical: what callers may set, patches applied; unknown members too
  std::uint64_t revision = 0, gates_revision = 1;
  Seq started_entry = 0, gates_entry = 0, last_entry = 0;  // of the run

  std::optional<PerspectivesFile> perspectives[2];  // of wave 1 and 2
  PMap<std::string, std::shared_ptr<const Output>> outputs;
  PMap<std::string, std::shared_ptr<const Summary>> summaries;
  PMap<TKey, std::shared_ptr<const Record>> records;  // by normalised URL
  Place records_changed;                              // 0: none recorded yet
  // What the derived files were made of, when they were made last.
  std::optional<Place> extracted;
  PMap<std::string, std::shared_ptr<const Output>> extracted_outputs;
  std::optional<PerspectivesFile> extracted_perspectives[2];

  std::optional<PackBuilt> pack;
  std::optional<GateResult> gates[6];  // A to F
  std::string newest_inputs_digest;
  std::optional<BundleWritten> bundle;

  // Checks of reports.
  std::vector<std::string> failed_reports;  // sha256, each once, since the counter began
  std::optional<Place> report;              // that passed
  std::string report_sha256;
  std::optional<Place> terminal;  // the check that used up the last try

  PMap<std::string, Retries> retries;  // by gate, space, artifact
  PMap<std::string, std::int64_t> retry_counts;
  PList<RetryNote> retry_history;
  std::vector<std::shared_ptr<const Directive>> directives;  // of the file
  Place directives_made;
  std::string directives_stage;
  std::optional<TimeMs> directives_consumed;

  std::string stage = "init";
  TimeMs stage_started;
  PList<StageMove> stage_history;
};

// The index of a gate in State::gates, or -1.
int gate_index(std::string_view gate);

// RFC 7396.
json::Value merge_patch(const json::Value& target, const json::Value& patch, json::Arena& arena);

// created, running, paused, failed, completed or cancelled.
std::string status_of(const State& state);

struct Limits {
  std::int64_t max_wave1_agents = 6, max_wave2_agents = 6, max_review_iterations = 4;
  double max_summary_kb = 5, max_total_summary_kb = 60;
  std::optional<double> pack_json_kb, synthesis_input_kb;
  double min_wave_rate = 1;

  double max_pack_json_kb() const { return pack_json_kb.value_or(max_total_summary_kb); }
  double max_synthesis_input_kb() const { return synthesis_input_kb.value_or(2 * max_total_summary_kb); }
  std::int64_t most_reports() const { return max_review_iterations < 1 ? 1 : max_review_iterations; }
};
Limits limits_of(const json::Value& manifest);

}  // namespace weir::research
