// Canonical JSON text: RFC 8785, with one extension, that an integer token beyond +-(2^53 - 1) keeps its digits.
#pragma once

#include <string>

#include "json/value.h"

namespace weir::json {

void write_canonical(const Value& value, std::string& out);
std::string canonical(const Value& value);

// A JSON string with its quotes and the minimal escapes.
void write_string(std::string_view text, std::string& out);

// A double as ECMAScript writes it. Finite only.
void write_number(double number, std::string& out);

// Indented, for people; keys in canonical order too.
std::string pretty(const Value& value);

}  // namespace weir::json
