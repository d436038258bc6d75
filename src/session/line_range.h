// Lines of a file, counted from 1, and lists of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace weir {

using LineNo = std::uint32_t;
inline constexpr LineNo kLastLine = static_cast<LineNo>(-1);  // no file has as many

// Lines first..last, both included; none if last < first.
struct LineRange {
  LineNo first = 1, last = 0;

  bool empty() const { return last < first; }
  LineNo count() const { return last + 1 - first; }
  bool contains(LineNo line) const { return first <= line && line <= last; }
  bool operator==(const LineRange&) const = default;
};

inline LineRange common(LineRange a, LineRange b) { return {std::max(a.first, b.first), std::min(a.last, b.last)}; }

// Adds a range at the end of a sorted list; what touches or overlaps the last range extends it.
void append_range(std::vector<LineRange>& ranges, LineRange range);

}  // namespace weir
