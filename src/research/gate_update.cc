#include "research/gate_update.h"

#include <algorithm>

#include "research/schema.h"
#include "research/state.h"

namespace weir::research {

using json::Value;

Result<void> check_gate_update(const Value& gates, const Value& update) {
  constexpr std::string_view kMembers[] = {"status", "checked_at", "metrics", "artifacts",    "warnings",
                                           "notes",  "checks",     "reasons", "inputs_digest"};
  if (!update.is_object() || update.members().empty()) return Error(ErrorCode::INVALID_ARGS, "an update names at least one gate");
  const Value* known = gates.find("gates");
  for (const json::Member& one : update.members()) {
    const std::string id(one.key);
    const Value* gate = known == nullptr ? nullptr : known->find(id);
    if (gate == nullptr) return Error(ErrorCode::UNKNOWN_GATE_ID, "unknown gate id: " + id).with("gate_id", id);
    for (const json::Member& member : one.value.members()) {
      if (std::find(std::begin(kMembers), std::end(kMembers), member.key) == std::end(kMembers))
        return Error(ErrorCode::INVALID_ARGS, "an update of gate " + id + " cannot carry '" + std::string(member.key) + "'")
            .with("gate_id", id);
    }
    const Value* at = one.value.find("checked_at");
    if (at == nullptr || !at->is_string() || at->text().empty())
      return Error(ErrorCode::LIFECYCLE_RULE_VIOLATION, "checked_at is required for gate " + id).with("gate_id", id);
    if (gate->text_or("class", "") == "hard" && one.value.text_or("status", "") == "warn")
      return Error(ErrorCode::LIFECYCLE_RULE_VIOLATION, "hard gate cannot be warn: " + id).with("gate_id", id);
  }
  json::Arena arena;
  SchemaErrors errors;
  check_gates(merge_patch(gates, json::make_object(arena, {{"gates", update}}), arena), errors);
  return errors.result();
}

}  // namespace weir::research
