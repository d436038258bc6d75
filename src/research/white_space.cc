#include "research/white_space.h"

#include "base/utf8.h"

namespace weir::research {

bool is_blank(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto c = decode_utf8(text, at);
    if (!c || !is_blank_char(*c)) return false;
  }
  return true;
}

std::string_view trimmed(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto c = decode_utf8(text, at);
    if (!c || !is_blank_char(*c)) break;
    text.remove_prefix(at);
    at = 0;
  }
  return right_trimmed(text);
}

std::string_view right_trimmed(std::string_view text) {
  while (!text.empty()) {
    std::size_t begin = text.size() - 1;
    while (begin > 0 && (text[begin] & 0xC0) == 0x80) --begin;
    std::size_t at = begin;
    const auto c = decode_utf8(text, at);
    if (!c || !is_blank_char(*c) || at != text.size()) break;
    text = text.substr(0, begin);
  }
  return text;
}

}  // namespace weir::research
