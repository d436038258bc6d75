// The research fold. Only `weir research` writes its entries, so a step believes what it reads; what the results should have
// been is for verify to say.
#pragma once

#include "research/state.h"

namespace weir::research {

// RESEARCH_STARTED, RESEARCH_PATCHED, ...
bool is_research_type(std::string_view type);
// Would this entry begin a run?
bool begins_run(std::string_view type, const json::Value& body);

struct Fold {
  static constexpr std::string_view kName = "research.v1";

  using State = research::State;
  static State initial() { return {}; }
  static Result<void> step(State& state, const Entry& entry);
  static std::size_t bytes(const State& state);
};

}  // namespace weir::research
