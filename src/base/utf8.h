// UTF-8, one code point at a time, and the few classes of code points that Weir treats specially.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

// The code point at `at`, which moves past it; nullopt (and `at` moves one byte) on anything that is not UTF-8:
// overlong forms, surrogates, above U+10FFFF, cut sequences.
std::optional<char32_t> decode_utf8(std::string_view text, std::size_t& at);

void append_utf8(std::string& out, char32_t c);
bool valid_utf8(std::string_view text);

// The same for a text that arrives in parts.
class Utf8Check {
 public:
  bool add(std::string_view part);  // false: no UTF-8, whatever may follow
  bool complete() const { return begun_.empty(); }

 private:
  std::string begun_;  // a character whose end has not arrived
};

// The longest prefix of at most `count` code points.
std::string_view utf8_prefix(std::string_view text, std::size_t count);

bool is_control(char32_t c);    // C0, DEL, C1
bool is_space(char32_t c);      // Unicode White_Space
bool is_invisible(char32_t c);  // bidi controls, zero-width, other format characters a terminal hides

// For people: control, escape, bidi and zero-width characters as \x1b and \u{202e}, bytes that are not UTF-8 as \xff.
// With keep_lines, line feeds and tabs stay.
std::string printable(std::string_view text, bool keep_lines = false);

// The text as it is where it is UTF-8, else printable: for JSON, which has no other bytes.
std::string as_utf8(std::string_view text);

// The beginning of a text for an error message: printable, at most `count` code points.
std::string excerpt(std::string_view text, std::size_t count);

// Columns a terminal needs, near enough: East Asian wide characters and emoji take two.
std::size_t display_width(std::string_view text);

}  // namespace weir
