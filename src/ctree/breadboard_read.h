// JSON text in, as Python's json.loads takes it (contract ctree, 12.1): bare NaN and Infinity, overflow to Infinity, the
// last of equal keys, lone surrogates.
#pragma once

#include <string_view>

#include "base/result.h"
#include "ctree/breadboard_value.h"

namespace weir::breadboard {

// INVALID_JSON with line and column: no JSON, no UTF-8, deeper than 512, an integer of more than 4300 digits.
Result<Value> read_json(std::string_view text);

}  // namespace weir::breadboard
