// What Python's own str(), int(), bool(), strip() and lower() make of a value, as far as the profile breadboard-0.1 needs
// them (contract ctree, 12.5). Text is WTF-8; what counts characters counts code points.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/utf8.h"
#include "ctree/breadboard_value.h"

namespace weir::breadboard {

// The code point at `at`, which moves past it. Lone surrogates are code points here.
char32_t next_code_point(std::string_view text, std::size_t& at);
std::size_t code_points(std::string_view text);
// The first so many of them.
std::string_view first_code_points(std::string_view text, std::size_t count);

// Python's white space, which has U+001C..U+001F besides Unicode's.
bool is_space(char32_t c);
std::string_view strip(std::string_view text);
inline bool is_blank(std::string_view text) { return strip(text).empty(); }

// Good for comparing with ASCII words only: characters whose other case is not ASCII stay as they are.
std::string lower(std::string_view text);
std::string upper(std::string_view text);

bool is_true(const Value& value);

// An integer, and true and false, which are integers too.
bool is_int(const Value& value);
// < 0, 0, > 0. Both are integers in this sense.
int compare_ints(const Value& a, const Value& b);
bool is_negative(const Value& integer);
// The integer, or the nearest one of 64 bits.
std::int64_t nearest_int64(const Value& integer);

// An integer of what int() takes; nothing where it raises.
std::optional<Value> to_int(const Value& value);

// str() of a scalar. NOT_REPRODUCIBLE for an array or object, naming `what` it was to be the text of.
Result<std::string> to_str(const Value& value, std::string_view what);

// What iterating gives: items, keys, or characters. INVALID_FIELD for other values.
Result<std::vector<Value>> iterate(const Value& value, std::string_view what);

}  // namespace weir::breadboard
