// Secrets in a JSON value: spans in every string and key, whole values under secret keys.
#pragma once

#include "base/secrets.h"
#include "json/value.h"

namespace weir::json {

// The value itself where it holds no secret; else a new one in the arena that shares what stayed.
Value mask(const Value& value, const Masker& masker, Arena& arena, MaskCounts& counts);

}  // namespace weir::json
