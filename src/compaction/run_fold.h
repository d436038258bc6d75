// The run fold: claims, evidence, conflicts, questions, failures, steps, coverage, and what every session carries. An event
// that breaks a rule changes nothing and becomes an anomaly; append refuses it before it comes here (event_rules.h).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "compaction/run_state.h"
#include "json/parse.h"

namespace weir::compaction {

struct RunFold {
  static constexpr std::string_view kName = "run.v2", kParts = "run.v2.parts";

  using State = RunState;
  static State initial() { return {}; }
  static Result<void> step(State& state, const Entry& entry);
  static std::size_t bytes(const State& state);
  // Of them, what is written whenever the state is saved.
  static std::size_t root_bytes(const State& state);
  // Without a sink all of it is in the text.
  static std::string save(const State& state, PartSink* sink = nullptr);
  static Result<State> load(std::string_view text, std::shared_ptr<Parts> parts = nullptr);
};

}  // namespace weir::compaction
