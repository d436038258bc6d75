#include "base/utf8.h"
#include "research/markdown.h"
#include "research/white_space.h"

namespace weir::research {
namespace {

// Han, Hiragana and Katakana: a word is about a character.
bool counts_each(char32_t c) {
  return (c >= 0x3040 && c <= 0x30FF) || (c >= 0x31F0 && c <= 0x31FF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x4E00 && c <= 0x9FFF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0xFF66 && c <= 0xFF9D) || (c >= 0x20000 && c <= 0x3FFFF);
}

// Thai, Lao, Myanmar and Khmer: written without spaces too, a word is about four characters.
bool counts_by_four(char32_t c) { return (c >= 0x0E00 && c <= 0x0EFF) || (c >= 0x1000 && c <= 0x109F) || (c >= 0x1780 && c <= 0x17FF); }

struct Token {
  std::int64_t each = 0, by_four = 0;
  bool ascii = false;  // has a letter or digit
  bool begun = false;

  std::int64_t words() const {
    if (!begun) return 0;
    if (each + by_four == 0) return 1;
    return each + (by_four + 3) / 4 + (ascii ? 1 : 0);
  }
};

}  // namespace

std::int64_t count_words(std::string_view text) {
  std::int64_t words = 0;
  Token token;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = decode_utf8(text, at).value_or(0xFFFD);
    if (is_blank_char(c)) {
      words += token.words();
      token = {};
      continue;
    }
    token.begun = true;
    if (c < 0x80) {
      token.ascii |= (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    } else if (counts_each(c)) {
      ++token.each;
    } else if (counts_by_four(c)) {
      ++token.by_four;
    }
  }
  return words + token.words();
}

}  // namespace weir::research
