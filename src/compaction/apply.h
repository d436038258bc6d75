// The effect of a legal run event on the state.
#pragma once

#include "compaction/event.h"
#include "compaction/run_state.h"
#include "json/value.h"

namespace weir::compaction {

void apply(RunState& state, Event event, const json::Value& body, const Place& place);

// A failure seen (again) in `step_id`.
void record_failure(RunState& state, const std::string& id, std::string_view category, std::string_view where, std::string_view why,
                    std::int64_t step_id, Pointer entry);

}  // namespace weir::compaction
