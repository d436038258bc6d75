#include "research/markdown.h"

#include <algorithm>

#include "base/utf8.h"
#include "research/white_space.h"

namespace weir::research {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_gap(char c) { return c == ' ' || c == '\t'; }

std::size_t run_of(std::string_view text, std::size_t from, char c) {
  const std::size_t end = text.find_first_not_of(c, from);
  return (end == std::string_view::npos ? text.size() : end) - std::min(from, text.size());
}

// Spaces before what the line says; more than three make it neither a fence nor a heading.
std::optional<std::size_t> indent_of(std::string_view line) {
  const std::size_t indent = run_of(line, 0, ' ');
  return indent <= 3 ? std::optional(indent) : std::nullopt;
}

struct FenceMark {
  char mark;
  std::size_t length;
  bool alone;  // nothing follows it: it may close
};

std::optional<FenceMark> fence_mark(std::string_view line) {
  const auto indent = indent_of(line);
  if (!indent || *indent == line.size()) return std::nullopt;
  const char mark = line[*indent];
  if (mark != '`' && mark != '~') return std::nullopt;
  const std::size_t length = run_of(line, *indent, mark);
  if (length < 3) return std::nullopt;
  return FenceMark{mark, length, is_blank(line.substr(*indent + length))};
}

bool closes(const FenceMark& open, std::string_view line) {
  const auto mark = fence_mark(line);
  return mark && mark->alone && mark->mark == open.mark && mark->length >= open.length;
}

// What a heading says, closing hashes and all; nothing if the line is none.
std::optional<std::string_view> heading_text(std::string_view line) {
  const auto indent = indent_of(line);
  if (!indent) return std::nullopt;
  const std::size_t hashes = run_of(line, *indent, '#');
  const std::size_t end = *indent + hashes;
  if (hashes < 1 || hashes > 6 || (end < line.size() && !is_gap(line[end]))) return std::nullopt;
  std::size_t begin = end;
  while (begin < line.size() && is_gap(line[begin])) ++begin;
  return line.substr(begin);
}

bool equal(std::string_view a, std::string_view b, Case letters) {
  if (letters == Case::exact) return a == b;
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

// `section`, then spaces, hashes and spaces, any of them missing.
bool says(std::string_view heading, std::string_view section, Case letters) {
  if (!equal(heading.substr(0, section.size()), section, letters)) return false;
  std::size_t at = section.size();
  while (at < heading.size() && is_gap(heading[at])) ++at;
  at += run_of(heading, at, '#');
  while (at < heading.size() && is_gap(heading[at])) ++at;
  return at == heading.size();
}

bool is_table_line(std::string_view line) { return line.starts_with('|'); }

UnitKind kind_at(const Line& line) {
  if (line.fenced) return UnitKind::fence;
  if (heading_text(line.text)) return UnitKind::heading;
  if (is_table_line(line.text)) return UnitKind::table;
  return item_marker(line.text) > 0 ? UnitKind::item : UnitKind::paragraph;
}

// The last line of the unit that begins at `first`.
std::size_t unit_end(const std::vector<Line>& lines, std::size_t first, UnitKind kind) {
  std::size_t last = first;
  if (kind == UnitKind::heading) return last;
  if (kind == UnitKind::fence) {
    const FenceMark open = *fence_mark(lines[first].text);
    do ++last;
    while (last < lines.size() && !closes(open, lines[last].text));
    return std::min(last, lines.size() - 1);
  }
  const UnitKind more = kind == UnitKind::table ? UnitKind::table : UnitKind::paragraph;
  while (last + 1 < lines.size() && !is_blank(lines[last + 1].text) && kind_at(lines[last + 1]) == more) ++last;
  return last;
}

std::string joined(const std::vector<Line>& lines, std::size_t first, std::size_t last) {
  std::string out;
  out.reserve(lines[last].end - lines[first].begin);
  for (std::size_t i = first; i <= last; ++i) {
    if (i > first) out += ' ';
    out += lines[i].text;
  }
  return out;
}

}  // namespace

std::optional<std::size_t> not_text_at(std::string_view bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t before = at;
    const auto c = decode_utf8(bytes, at);
    if (!c || *c == 0) return before;
  }
  return std::nullopt;
}

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  lines.reserve(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1);
  std::optional<FenceMark> open;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t feed = text.find('\n', begin);
    const std::size_t stop = feed == std::string_view::npos ? text.size() : feed;
    Line line{text.substr(begin, stop - begin), begin, std::min(stop + 1, text.size())};
    if (line.text.ends_with('\r')) line.text.remove_suffix(1);
    line.fenced = true;
    if (!open) {
      open = fence_mark(line.text);
      line.fenced = open.has_value();
    } else if (closes(*open, line.text)) {
      open.reset();
    }
    begin = line.end;
    lines.push_back(line);
  }
  return lines;
}

std::vector<Unit> units_of(const std::vector<Line>& lines) {
  std::vector<Unit> units;
  units.reserve(lines.size());
  for (std::size_t at = 0; at < lines.size(); ++at) {
    if (!lines[at].fenced && is_blank(lines[at].text)) continue;
    const UnitKind kind = kind_at(lines[at]);
    const std::size_t last = unit_end(lines, at, kind);
    units.push_back({kind, at, last, joined(lines, at, last)});
    at = last;
  }
  return units;
}

UnitPlaces::Place UnitPlaces::at(std::size_t offset) {
  while (line_ < last_ && offset > passed_ + lines_[line_].text.size()) passed_ += lines_[line_++].text.size() + 1;
  return {line_, lines_[line_].begin + std::min(offset - passed_, lines_[line_].text.size())};
}

std::size_t item_marker(std::string_view text) {
  const auto blanks = [&](std::size_t from) {
    std::size_t end = from;
    for (std::size_t at = from; at < text.size();) {
      const auto c = decode_utf8(text, at);
      if (!c || !is_blank_char(*c)) break;
      end = at;
    }
    return end;
  };
  std::size_t at = blanks(0);
  if (at == text.size()) return 0;
  if (text[at] == '-' || text[at] == '*' || text[at] == '+') {
    ++at;
  } else {
    const std::size_t first = at;
    while (at < text.size() && at - first < 10 && is_digit(text[at])) ++at;
    if (at == first || at - first > 9 || at == text.size() || (text[at] != '.' && text[at] != ')')) return 0;
    ++at;
  }
  const std::size_t end = blanks(at);
  return end > at ? end : 0;
}

bool is_heading(const Line& line) { return !line.fenced && heading_text(line.text).has_value(); }

std::size_t find_section(const std::vector<Line>& lines, std::string_view section, Case letters) {
  const std::string_view name = trimmed(section);
  for (std::size_t at = 0; at < lines.size(); ++at) {
    if (lines[at].fenced) continue;
    const auto heading = heading_text(lines[at].text);
    if (heading && says(*heading, name, letters)) return at;
  }
  return kNoLine;
}

}  // namespace weir::research
