// Checks a value against the part of JSON Schema that the tools' schemas use.
#pragma once

#include <string>

#include "json/decode.h"

namespace weir::mcp {

// type, enum, minimum, maximum, required, properties, additionalProperties, items; other words say nothing here.
void check_schema(const json::Value& schema, const json::Value& value, const std::string& path, json::FieldErrors& errors);

}  // namespace weir::mcp
