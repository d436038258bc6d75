#include "research/sentences.h"

#include <algorithm>
#include <array>

#include "base/utf8.h"
#include "research/letters.h"
#include "research/white_space.h"

namespace weir::research {
namespace {

// With a full stop behind them they end no sentence. `e.g` and `i.e` end in a single letter, which never does.
constexpr std::array<std::string_view, 10> kAbbreviations = {"Dr", "Mr", "Mrs", "Ms", "Prof", "St", "vs", "No", "Fig", "approx"};

bool is_closer(char32_t c) {
  constexpr std::u32string_view kClosers = U"\"')]}\u2019\u201D\u00BB\u203A\u300D\u300F\u3009\u300B\u3011\u3015\uFF09\uFF3D";
  return kClosers.find(c) != std::u32string_view::npos;
}

std::size_t skip_blanks(std::string_view text, std::size_t from) {
  std::size_t end = from;
  for (std::size_t at = from; at < text.size(); end = at) {
    const auto c = decode_utf8(text, at);
    if (!c || !is_blank_char(*c)) break;
  }
  return end;
}

std::size_t skip_closers(std::string_view text, std::size_t from) {
  std::size_t end = from;
  for (std::size_t at = from; at < text.size(); end = at) {
    const auto c = decode_utf8(text, at);
    if (!c || !is_closer(*c)) break;
  }
  return end;
}

// Is what stands before a full stop a single letter or an abbreviation?
bool abbreviates(std::string_view text, std::size_t stop) {
  std::size_t begin = stop, letters = 0;
  while (begin > 0 && letters <= 6) {
    std::size_t at = begin - 1;
    while (at > 0 && (text[at] & 0xC0) == 0x80) --at;
    std::size_t next = at;
    const char32_t c = decode_utf8(text, next).value_or(0xFFFD);
    if (!is_letter(c) && !is_digit(c)) break;
    if (is_digit(c)) return false;
    begin = at;
    ++letters;
  }
  const std::string_view word = text.substr(begin, stop - begin);
  return letters == 1 || std::find(kAbbreviations.begin(), kAbbreviations.end(), word) != kAbbreviations.end();
}

// Finds the mention or mark that begins at a place; asked in rising order.
class MarkCursor {
 public:
  explicit MarkCursor(const Marks& marks) : marks_(marks) {}
  // Its end, or `at` if none begins there.
  std::size_t past(std::size_t at) {
    while (mention_ < marks_.mentions.size() && marks_.mentions[mention_].begin < at) ++mention_;
    while (confidence_ < marks_.confidences.size() && marks_.confidences[confidence_].begin < at) ++confidence_;
    if (mention_ < marks_.mentions.size() && marks_.mentions[mention_].begin == at) return marks_.mentions[mention_].end;
    if (confidence_ < marks_.confidences.size() && marks_.confidences[confidence_].begin == at) return marks_.confidences[confidence_].end;
    return at;
  }

 private:
  const Marks& marks_;
  std::size_t mention_ = 0, confidence_ = 0;
};

// Behind a stop: closing quotes and brackets, then mentions and marks, white space between them or not.
std::size_t sentence_tail(std::string_view text, std::size_t from, MarkCursor& marks) {
  std::size_t end = skip_closers(text, from);
  for (;;) {
    const std::size_t begin = skip_blanks(text, end);
    const std::size_t next = begin < text.size() ? marks.past(begin) : begin;
    if (next == begin) return end;
    end = skip_closers(text, next);
  }
}

}  // namespace

Marks marks_in(std::string_view text) {
  Mentions mentions = mentions_in(text);
  return {std::move(mentions.found), confidence_marks_in(text), mentions.malformed};
}

std::vector<std::size_t> sentence_ends(std::string_view text, const Marks& marks) {
  std::vector<std::size_t> ends;
  MarkCursor here(marks), behind(marks);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t stop = at;
    if (const std::size_t end = here.past(at); end > at) {
      at = end;
      continue;
    }
    const char32_t c = decode_utf8(text, at).value_or(0xFFFD);
    const bool full_width = c == U'。' || c == U'！' || c == U'？';
    if (!full_width && c != '.' && c != '!' && c != '?') continue;
    if (c == '.' && abbreviates(text, stop)) continue;
    const std::size_t end = sentence_tail(text, at, behind);
    if (!full_width) {
      const std::size_t next = skip_blanks(text, end);
      if (next < text.size() && (next == end || (text[next] >= 'a' && text[next] <= 'z'))) continue;
    }
    ends.push_back(end);
    at = end;
  }
  const std::size_t last = ends.empty() ? 0 : ends.back();
  if (!is_blank(text.substr(last))) ends.push_back(text.size());
  return ends;
}

}  // namespace weir::research
