#include "compaction/trigger.h"

#include <algorithm>

namespace weir::compaction {
namespace {

constexpr std::string_view kTriggers[] = {"EVENT_THRESHOLD", "STEP_FALLBACK", "PLAIN_BYTES", "MANUAL", "EGRESS", "HOST_BARRIER"};

json::Value pointer_or_null(const std::optional<Place>& place, json::Arena& arena) {
  return place ? json::Value(arena.copy(place->pointer.str())) : json::Value(nullptr);
}

}  // namespace

std::string_view trigger_name(Trigger trigger) { return kTriggers[static_cast<int>(trigger)]; }

std::optional<Trigger> parse_trigger(std::string_view name) {
  const auto it = std::find(std::begin(kTriggers), std::end(kTriggers), name);
  return it == std::end(kTriggers) ? std::nullopt : std::optional(static_cast<Trigger>(it - std::begin(kTriggers)));
}

std::optional<Trigger> due(const RunState& state, const Thresholds& thresholds) {
  if (state.counted >= thresholds.event_threshold) return Trigger::event_threshold;
  if (state.steps >= thresholds.n_step_fallback) return Trigger::step_fallback;
  const bool plain = state.run == nullptr && !state.counted_entries;
  if (plain && thresholds.plain_bytes_threshold > 0 && state.message_bytes >= static_cast<std::uint64_t>(thresholds.plain_bytes_threshold))
    return Trigger::plain_bytes;
  return std::nullopt;
}

json::Value thresholds_json(const Thresholds& thresholds, json::Arena& arena) {
  return json::make_object(arena, {{"event_threshold", thresholds.event_threshold},
                                   {"n_step_fallback", thresholds.n_step_fallback},
                                   {"plain_bytes_threshold", thresholds.plain_bytes_threshold}});
}

json::Value due_json(const RunState& state, const Thresholds& thresholds, json::Arena& arena) {
  const auto trigger = due(state, thresholds);
  return json::make_object(arena, {{"due", trigger.has_value()},
                                   {"trigger", trigger ? json::Value(trigger_name(*trigger)) : json::Value(nullptr)},
                                   {"at_boundary", !state.open_step.has_value()},
                                   {"counted_events_since_last_compaction", state.counted},
                                   {"steps_since_last_compaction", state.steps},
                                   {"message_bytes_since_last_compaction", state.message_bytes},
                                   {"thresholds", thresholds_json(thresholds, arena)},
                                   {"barrier", pointer_or_null(state.barrier, arena)},
                                   {"bare_barrier", pointer_or_null(state.bare_barrier, arena)},
                                   {"stopped", state.stop ? json::Value(arena.copy(state.stop->entry.str())) : json::Value(nullptr)}});
}

}  // namespace weir::compaction
