#include <fmt/format.h>

#include <algorithm>

#include "research/figures.h"
#include "research/markdown.h"
#include "research/sentences.h"
#include "research/summary.h"
#include "research/white_space.h"

namespace weir::research {
namespace {

std::string notice(std::size_t kept, std::size_t of) { return fmt::format("\n\n[truncated: kept {} of {} bytes]\n", kept, of); }

// Bytes after which the text may be cut, rising: ends of units and of sentences in paragraphs. Headings are left out, so none is
// ever the last thing kept.
std::vector<std::size_t> cut_points(std::string_view text) {
  std::vector<std::size_t> points;
  const auto add = [&](std::size_t end) { points.push_back(right_trimmed(text.substr(0, end)).size()); };
  const std::vector<Line> lines = lines_of(text);
  for (const Unit& unit : units_of(lines)) {
    if (unit.kind == UnitKind::heading) continue;
    if (unit.kind == UnitKind::paragraph) {
      UnitPlaces places(lines, unit);
      for (const std::size_t end : sentence_ends(unit.text, marks_in(unit.text))) add(places.at(end).byte);
    } else {
      add(lines[unit.last].end);
    }
  }
  return points;
}

}  // namespace

std::optional<Cut> cut_summary(std::string_view text, double max_summary_kb) {
  const std::uint64_t cap = cap_bytes(max_summary_kb);
  if (text.size() <= cap) return Cut{std::string(text), text.size(), text.size()};
  const std::vector<std::size_t> points = cut_points(text);
  const auto beyond = std::partition_point(points.begin(), points.end(),
                                           [&](std::size_t point) { return point + notice(point, text.size()).size() <= cap; });
  if (beyond == points.begin()) return std::nullopt;
  const std::size_t kept = *(beyond - 1);
  return Cut{std::string(text.substr(0, kept)) + notice(kept, text.size()), kept, text.size()};
}

}  // namespace weir::research
