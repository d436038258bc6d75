// The shortest edit script between two texts, line by line: Myers' search for the middle of the script, divide and conquer,
// in memory O(lines). The result depends on the texts and `max_cost` alone.
//
// Lines are compared with their ends, as patch does: `b` without and with a line feed differ, and the empty line that a final
// line feed makes is in no edit. It goes with the text's end: both sides have it, and it was kept, or the script's last
// edit reaches the end and adds or removes it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/function_ref.h"
#include "readcache/lines.h"

namespace weir {

// a_count lines of a, from a_first, became b_count lines of b, from b_first. Where a count is 0, its first line is the one
// the change stands before. Edits are in order, with at least one kept line between two of them.
struct Edit {
  LineNo a_first, a_count;
  LineNo b_first, b_count;
  bool operator==(const Edit&) const = default;
};

enum class DiffOutcome {
  ok,
  too_costly,  // more than max_cost comparisons of lines
  stopped,     // stop() said so
};

struct LineDiff {
  DiffOutcome outcome = DiffOutcome::ok;
  std::vector<Edit> edits;  // empty unless ok
};

// stop() is asked first and then every some ten microseconds. Line numbers are those of the tables; both slices must start
// at the same line.
LineDiff diff_lines(const LineSlice& a, const LineSlice& b, std::uint64_t max_cost, FunctionRef<bool()> stop);

// Lines a_first.. of a that are lines b_first.. of b.
struct KeptLines {
  LineNo a_first, b_first, count;
  bool operator==(const KeptLines&) const = default;
};

// What stands between the edits, with the empty last line if both sides have it. In a diff of whole texts every other line
// of b is in a hunk (unified.h). In a diff of ranges b's empty last line may be in neither: a reader of that diff has not got it.
std::vector<KeptLines> kept_lines(const LineSlice& a, const LineSlice& b, const std::vector<Edit>& edits);

}  // namespace weir
