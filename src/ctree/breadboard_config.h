// The compiler's settings in the profile breadboard-0.1 (contract ctree, 12.5). Odd values fall back to a default as they
// do in BreadBoard; nothing is refused but what it could not run with.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ctree/breadboard_value.h"

namespace weir::breadboard {

struct Config {
  std::vector<std::string> kinds;                 // as given, in order
  Value max_nodes, max_turns, max_message_chars;  // integers or null
  bool pin_latest = true, pin_first_system = false;
  bool previews = false;
  std::int64_t preview_chars = 160;  // 0: no cut
  bool redact_secret_like = true;
};

// CONFIG_INVALID: neither an object nor empty. NOT_REPRODUCIBLE: an array or object in the list of kinds.
Result<Config> read_config(const Value& config);

// A block, or settings as a whole: what is false for Python is empty, another value but an object CONFIG_INVALID.
Result<Value> object_or_empty(const Value& value, std::string_view what);

}  // namespace weir::breadboard
