// What may be said of a gate: the lifecycle that every evaluation goes through before it is recorded.
#pragma once

#include "base/result.h"
#include "json/value.h"

namespace weir::research {

// `update`: {"<gate>": {status, checked_at, metrics, ...}}; `gates`: the document it is for. UNKNOWN_GATE_ID, INVALID_ARGS for a
// member that no update may carry, LIFECYCLE_RULE_VIOLATION for a status without a time, or one that the gate's class cannot have.
Result<void> check_gate_update(const json::Value& gates, const json::Value& update);

}  // namespace weir::research
