// Does a value meet a JSON Schema? For the part of the language that shapes use (api/shape.h).
#pragma once

#include <string>

#include "json/value.h"

namespace weir::testing {

// Where and why it does not; empty if it does. A word of the schema that is not known here is an answer too.
std::string schema_fault(const json::Value& schema, const json::Value& value, const std::string& path = "");

}  // namespace weir::testing
