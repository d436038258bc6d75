// A text as lines and units: what a heading, an item, a table, a paragraph and a fence are, once, for outputs, summaries and reports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::research {

// Where bytes are no text: the first that is NUL or begins what is not UTF-8. Nothing: they are text.
std::optional<std::size_t> not_text_at(std::string_view bytes);

enum class UnitKind { heading, item, table, paragraph, fence };

struct Line {
  std::string_view text;   // without its end
  std::size_t begin, end;  // bytes of it in the text, its line end included in `end`
  bool fenced = false;     // in a fence, or its mark
};
std::vector<Line> lines_of(std::string_view text);

struct Unit {
  UnitKind kind;
  std::size_t first, last;  // lines, from 0
  std::string text;         // its lines, joined by one space
};
std::vector<Unit> units_of(const std::vector<Line>& lines);

// From a unit's text back to the whole text. Ask in rising order.
class UnitPlaces {
 public:
  UnitPlaces(const std::vector<Line>& lines, const Unit& unit) : lines_(lines), line_(unit.first), last_(unit.last) {}
  struct Place {
    std::size_t line, byte;
  };
  Place at(std::size_t offset);

 private:
  const std::vector<Line>& lines_;
  std::size_t line_, last_;
  std::size_t passed_ = 0;  // bytes of the unit's text before the line
};

// Bytes of indent, list marker and the white space behind it; 0 if the text does not begin with a marker.
std::size_t item_marker(std::string_view text);

inline constexpr std::size_t kNoLine = static_cast<std::size_t>(-1);
// The first line with a heading that says exactly `section`, or kNoLine. The case counts unless it is told not to.
enum class Case { exact, any };
std::size_t find_section(const std::vector<Line>& lines, std::string_view section, Case letters = Case::exact);
bool is_heading(const Line& line);

std::int64_t count_words(std::string_view text);

}  // namespace weir::research
