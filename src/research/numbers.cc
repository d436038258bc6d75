#include <algorithm>
#include <charconv>
#include <map>

#include "base/utf8.h"
#include "research/citations.h"
#include "research/letters.h"
#include "research/markdown.h"
#include "research/white_space.h"

namespace weir::research {
namespace {

constexpr std::string_view kMark = "(confidence:";

bool digit_at(std::string_view text, std::size_t at) { return at < text.size() && is_digit(static_cast<unsigned char>(text[at])); }

std::size_t skip_digits(std::string_view text, std::size_t at) {
  while (digit_at(text, at)) ++at;
  return at;
}

std::size_t skip_others(std::string_view text, std::size_t at) {
  while (at < text.size() && !digit_at(text, at)) ++at;
  return at;
}

bool begins_mark(std::string_view text) {
  const auto same = [](char x, char y) { return (x >= 'A' && x <= 'Z' ? x + 32 : x) == y; };
  return text.size() >= kMark.size() && std::equal(kMark.begin(), kMark.end(), text.begin(), [&](char m, char t) { return same(t, m); });
}

std::optional<double> confidence(std::string_view written) {
  double value = 0;
  const auto read = std::from_chars(written.data(), written.data() + written.size(), value, std::chars_format::fixed);
  if (read.ec != std::errc() || read.ptr != written.data() + written.size() || !(value >= 0 && value <= 100)) return std::nullopt;
  return value;
}

void blank_out(std::string& text, std::size_t begin, std::size_t end) {
  std::fill(text.begin() + static_cast<std::ptrdiff_t>(begin), text.begin() + static_cast<std::ptrdiff_t>(end), ' ');
}

// Inline code: a run of backticks up to the next run of as many.
void blank_code(std::string& text) {
  struct Run {
    std::size_t begin, length, next;
  };
  std::vector<Run> runs;
  for (std::size_t at = text.find('`'); at != std::string::npos; at = text.find('`', at)) {
    std::size_t end = at;
    while (end < text.size() && text[end] == '`') ++end;
    runs.push_back({at, end - at, 0});
    at = end;
  }
  std::map<std::size_t, std::size_t> later;  // by length, where the next one is
  for (std::size_t i = runs.size(); i-- > 0;) {
    const auto found = later.find(runs[i].length);
    runs[i].next = found == later.end() ? i : found->second;
    later[runs[i].length] = i;
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].next == i) continue;
    const Run& close = runs[runs[i].next];
    blank_out(text, runs[i].begin, close.begin + close.length);
    i = runs[i].next;
  }
}

std::string counted_text(std::string_view text) {
  std::string out(text);
  for (const Mention& mention : mentions_in(text).found) blank_out(out, mention.begin, mention.end);
  for (const ConfidenceMark& mark : confidence_marks_in(text)) blank_out(out, mark.begin, mark.end);
  blank_code(out);
  return out;
}

bool word_before(std::string_view text, std::size_t at) {
  if (at == 0) return false;
  std::size_t begin = at - 1;
  while (begin > 0 && (text[begin] & 0xC0) == 0x80) --begin;
  const char32_t c = decode_utf8(text, begin).value_or(0xFFFD);
  return is_letter(c) || c == '_';
}

bool word_at(std::string_view text, std::size_t at) {
  if (at >= text.size()) return false;
  const char32_t c = decode_utf8(text, at).value_or(0xFFFD);
  return is_letter(c) || c == '_';
}

// Is it part of a name, as in `v2`, `3rd`, `HTTP/3`, `UTF-8`?
bool in_name(std::string_view text, std::size_t begin, std::size_t end) {
  if (word_before(text, begin) || word_at(text, end)) return true;
  return begin > 0 && (text[begin - 1] == '-' || text[begin - 1] == '/') && word_before(text, begin - 1);
}

std::string normal_form(std::string_view whole, std::string_view decimals) {
  std::string out;
  for (const char c : whole) {
    if (c != ',' && !(c == '0' && out.empty())) out += c;
  }
  if (out.empty()) out += '0';
  const std::size_t last = decimals.find_last_not_of('0');
  if (last != std::string_view::npos) out.append(".").append(decimals.substr(0, last + 1));
  return out;
}

}  // namespace

std::vector<ConfidenceMark> confidence_marks_in(std::string_view text) {
  std::vector<ConfidenceMark> marks;
  for (std::size_t at = text.find('('); at != std::string_view::npos; at = text.find('(', at + 1)) {
    if (!begins_mark(text.substr(at))) continue;
    const std::size_t inside = at + kMark.size();
    const std::size_t close = text.find_first_of("()[]", inside);
    if (close == std::string_view::npos || text[close] != ')') continue;
    const std::string_view written = trimmed(text.substr(inside, close - inside));
    const bool number = !written.empty() && (is_digit(static_cast<unsigned char>(written[0])) || written[0] == '-' || written[0] == '+');
    if (number) marks.push_back({at, close + 1, written, confidence(written)});
  }
  return marks;
}

std::vector<Number> find_numbers(std::string_view text) {
  std::vector<Number> numbers;
  if (skip_others(text, 0) == text.size()) return numbers;
  const std::string counted = counted_text(text);
  for (std::size_t at = skip_others(counted, 0); at < counted.size(); at = skip_others(counted, at)) {
    const std::size_t begin = at;
    at = skip_digits(counted, at);
    while (at < counted.size() && counted[at] == ',' && skip_digits(counted, at + 1) == at + 4) at += 4;
    const std::size_t whole = at;
    std::size_t dots = 0;
    for (; at < counted.size() && counted[at] == '.' && digit_at(counted, at + 1); ++dots) at = skip_digits(counted, at + 1);
    if (dots > 1 || in_name(counted, begin, at)) continue;
    const std::string_view view = counted;
    numbers.push_back({begin, normal_form(view.substr(begin, whole - begin), dots == 0 ? "" : view.substr(whole + 1, at - whole - 1))});
  }
  return numbers;
}

std::vector<std::string> numbers_in(std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    for (Number& number : find_numbers(line.substr(item_marker(line)))) out.push_back(std::move(number.normal));
    begin = end + 1;
  }
  return out;
}

}  // namespace weir::research
