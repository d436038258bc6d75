// When a compaction is due, and why one was made.
#pragma once

#include <optional>
#include <string_view>

#include "compaction/run_state.h"
#include "json/value.h"

namespace weir::compaction {

enum class Trigger { event_threshold, step_fallback, plain_bytes, manual, egress, host_barrier };
std::string_view trigger_name(Trigger trigger);
std::optional<Trigger> parse_trigger(std::string_view name);

// Nothing: not due.
std::optional<Trigger> due(const RunState& state, const Thresholds& thresholds);
inline std::optional<Trigger> due(const RunState& state) { return due(state, state.thresholds); }

json::Value thresholds_json(const Thresholds& thresholds, json::Arena& arena);
// The answer of `weir due`.
json::Value due_json(const RunState& state, const Thresholds& thresholds, json::Arena& arena);

}  // namespace weir::compaction
