// The texts of the profile breadboard-0.1 (contract ctree, 12.2 and 12.3), ASCII only, and the hashes of them. `plain` is
// what Python's json.dumps writes with sorted keys; `canonical` is the same of the sanitised value.
#pragma once

#include <string>
#include <string_view>

#include "ctree/breadboard_value.h"

namespace weir::breadboard {

std::string plain(const Value& value);
std::string canonical(const Value& value);
// Indented by two, keys sorted, no line end behind it.
std::string indented(const Value& value);

// A JSON string with its quotes.
void write_string(std::string_view text, std::string& out);
// A double as Python's json writes it: `1.0`, `1e-05`, `NaN`, `-Infinity`.
std::string number_text(double number);

std::string sha1_of_plain(const Value& value);
std::string sha1_of_canonical(const Value& value);
std::string sha256_of_plain(const Value& value);
std::string sha256_of_canonical(const Value& value);

}  // namespace weir::breadboard
