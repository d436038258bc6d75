// Letters, where it matters whether one stands beside a number or a full stop.
#pragma once

namespace weir::research {

constexpr bool is_digit(char32_t c) { return c >= '0' && c <= '9'; }

// Latin, Greek and Cyrillic. A letter of these beside a digit makes one word of them (`v2`, `5µm`); scripts that write
// their words without spaces or glue particles to a number have no such habit, so their letters are none here.
constexpr bool is_letter(char32_t c) {
  if (c < 0x80) return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  if (c == 0xD7 || c == 0xF7) return false;
  return c == 0xAA || c == 0xB5 || c == 0xBA || (c >= 0xC0 && c <= 0x2AF) || (c >= 0x370 && c <= 0x52F && c != 0x37E && c != 0x387) ||
         (c >= 0x1E00 && c <= 0x1FFF);
}

}  // namespace weir::research
