// One message as the HEADER stage of the profile breadboard-0.1 shows it: hashes and lengths, and a preview if asked.
#pragma once

#include "base/result.h"
#include "ctree/breadboard_config.h"
#include "ctree/breadboard_store.h"

namespace weir::breadboard {

// NOT_REPRODUCIBLE: its role or name is an array or object.
Result<Value> header_item(const Node& node, const Config& config);

}  // namespace weir::breadboard
