// Use cases: the steps of a research run. Each answers one JSON object; `holds` says whether what was asked for is so.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "service/research_run.h"

namespace weir {

struct ResearchAnswer {
  std::string text;  // canonical JSON
  bool holds = true;
};

// How far a long step is: done of total.
using ResearchProgress = FunctionRef<void(std::uint64_t done, std::uint64_t total)>;

struct ResearchBegin {
  std::string query;
  std::optional<std::string> mode, sensitivity;
  std::vector<std::pair<std::string, std::string>> limits;  // as they were given: name, number
};
Result<ResearchAnswer> research_init(Service& service, const RunCall& call, const ResearchBegin& begin);
// `patch`: a JSON text.
Result<ResearchAnswer> research_patch(Service& service, const RunCall& call, const std::string& patch);
Result<ResearchAnswer> research_adopt(Service& service, const RunCall& call);

// `agents`: those the configuration names, if it names any.
Result<ResearchAnswer> research_perspectives(Service& service, const RunCall& call, int wave, const std::string& document,
                                             const std::vector<std::string>& agents);

// A text that an agent made: a wave output or a summary.
struct HandedIn {
  std::string perspective_id, text;
  std::optional<std::string> tool_usage;  // JSON text
  std::optional<std::string> agent_run_id, model, prompt_digest;
};
// {"outputs":[...]} as texts; INVALID_JSON, INVALID_ARGS.
Result<std::vector<HandedIn>> parse_outputs(const std::string& text);
Result<ResearchAnswer> research_ingest(Service& service, const RunCall& call, int wave, const std::vector<HandedIn>& outputs,
                                       ResearchProgress progress);
struct SummaryOptions {
  bool truncate = false, numbers_warn = false;
};
Result<ResearchAnswer> research_summarize(Service& service, const RunCall& call, const std::vector<HandedIn>& summaries,
                                          const SummaryOptions& options, ResearchProgress progress);

Result<ResearchAnswer> research_extract(Service& service, const RunCall& call);
Result<ResearchAnswer> research_cite(Service& service, const RunCall& call, const std::string& records);
Result<ResearchAnswer> research_citations(Service& service, const RunCall& call);

Result<ResearchAnswer> research_pack(Service& service, const RunCall& call, bool allow_missing);
Result<ResearchAnswer> research_gate(Service& service, const RunCall& call, const std::string& gate);
// `stream`, if asked for, is the bundle itself.
Result<ResearchAnswer> research_bundle(Service& service, const RunCall& call, std::string* stream);
Result<ResearchAnswer> research_check(Service& service, const RunCall& call, const std::string& report, bool render);
Result<ResearchAnswer> research_status(Service& service, const RunCall& call);
// `rebuild`: an empty directory to write the whole run into; empty: none.
Result<ResearchAnswer> research_verify(Service& service, const RunCall& call, const std::string& rebuild, ResearchProgress progress);

// A run id where none was given: dr_<time>_<six of 0-9a-z>.
std::string new_run_id(Clock& clock, Random& random);

}  // namespace weir
