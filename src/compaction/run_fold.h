// The run fold: claims, evidence, conflicts, questions, failures, steps, coverage, and what every session carries. An event
// that breaks a rule changes nothing and becomes an anomaly; append refuses it before it comes here (event_rules.h).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "compaction/run_state.h"
#include "json/parse.h"

namespace weir::compaction {

struct RunFold {
  static constexpr std::string_view kName = "run.v1";

  using State = RunState;
  static State initial() { return {}; }
  static Result<void> step(State& state, const Entry& entry);
  static std::size_t bytes(const State& state);
  static std::string save(const State& state);
  static Result<State> load(std::string_view text);
};

}  // namespace weir::compaction
