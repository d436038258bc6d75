#include "session/line_range.h"

namespace weir {

void append_range(std::vector<LineRange>& ranges, LineRange range) {
  if (range.empty()) return;
  if (ranges.empty() || range.first > ranges.back().last + 1) {
    ranges.push_back(range);
  } else {
    ranges.back().last = std::max(ranges.back().last, range.last);
  }
}

}  // namespace weir
