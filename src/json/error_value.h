// An error's details as values.
#pragma once

#include "base/result.h"
#include "json/value.h"

namespace weir::json {

// Strings that are no UTF-8 are shown as far as they can be; JSON text that cannot be read is a string.
Value detail_value(const DetailValue& detail, Arena& arena);

// {key: value, ...}
Value details_value(const Error& error, Arena& arena);

// A list or object as a detail.
JsonText json_detail(const Value& value);

}  // namespace weir::json
