// Shared by the two parsers: an object's members into canonical order.
#pragma once

#include <span>

#include "base/result.h"
#include "json/value.h"

namespace weir::json {

// INVALID_JSON if a key is there twice.
Result<void> sort_members(std::span<Member> members);

Error too_deep(std::size_t limit);

}  // namespace weir::json
