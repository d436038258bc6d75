// White space as ECMAScript has it, which is what every rule here means by a blank text.
#pragma once

#include <string_view>

namespace weir::research {

constexpr bool is_blank_char(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13);
  return c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000 || c == 0xFEFF;
}

// Nothing, or white space only.
bool is_blank(std::string_view text);
std::string_view trimmed(std::string_view text);
std::string_view right_trimmed(std::string_view text);

}  // namespace weir::research
