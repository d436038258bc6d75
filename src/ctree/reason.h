// Why a node is in or out: one closed list. Every node of a path has exactly one.
#pragma once

#include <cstdint>
#include <string_view>

namespace weir::ctree {

enum class Reason : std::uint8_t {
  // kept
  in_scope,
  kept_window,  // of what came before a compaction, because its host kept it
  pair,         // with a pin, in one unit
  pin_checkpoint,
  pin_first_system,
  pin_latest_system,
  pin_latest_user,
  pin_latest_assistant,
  pin_label,
  pin_id,
  // a candidate that was dropped
  edited_out,
  orphan_result,
  max_turns,
  max_nodes,
  budget_chars,
  budget_bytes,
  budget_tokens,
  collapse_target,
  // no candidate
  kind,
  before_barrier,
  superseded_checkpoint,
};

inline constexpr std::string_view kReasonNames[] = {
    "in_scope",
    "kept_window",
    "pair",
    "pin:checkpoint",
    "pin:first_system",
    "pin:latest_system",
    "pin:latest_user",
    "pin:latest_assistant",
    "pin:label",
    "pin:id",
    "edited_out",
    "orphan_result",
    "limit:max_turns",
    "limit:max_nodes",
    "budget:chars",
    "budget:bytes",
    "budget:tokens",
    "collapse:target",
    "kind",
    "before_barrier",
    "superseded_checkpoint",
};
// Of a collapsed node, which keeps its own reason in SPEC.
inline constexpr std::string_view kCollapseReason = "collapse:all_but_last";
inline constexpr std::size_t kReasons = sizeof kReasonNames / sizeof kReasonNames[0];

constexpr std::string_view name(Reason reason) { return kReasonNames[static_cast<int>(reason)]; }
constexpr bool is_kept(Reason reason) { return reason <= Reason::pin_id; }
constexpr bool is_dropped(Reason reason) { return reason >= Reason::edited_out && reason <= Reason::collapse_target; }
constexpr bool is_candidate(Reason reason) { return reason <= Reason::collapse_target; }
constexpr bool is_pin(Reason reason) { return reason >= Reason::pin_checkpoint && reason <= Reason::pin_id; }
// Whatever the limits: a pin, or in a pin's unit.
constexpr bool is_held(Reason reason) { return is_pin(reason) || reason == Reason::pair; }

}  // namespace weir::ctree
