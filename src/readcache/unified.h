// Edits as a unified diff with three lines of context, and the answers of the read cache made of it.
//
// The diff is patch's: with one line feed added it turns base into current under `patch -p1`. Patch does not count the empty
// line that a final line feed makes, so no hunk prints that line. A hunk still shows it in one case: it reaches the end of
// both texts and only current ends with a line feed; the `\ No newline` after an old line and none after the new one says so.
// If both sides end with a line feed, the line was kept: the reader holds it from base or not at all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "readcache/line_diff.h"

namespace weir {

struct Hunk {
  std::size_t begin, end;          // its bytes in the diff, from `@@`, without a line feed after it
  std::size_t diff_lines;          // lines of the diff up to its end
  LineRange shown;                 // lines of current whose text is in it; none where everything was removed
  std::vector<LineRange> changed;  // lines of current without context; for a pure deletion the lines around it
  bool shifts = false;             // lines behind it have other numbers than before
};

struct UnifiedDiff {
  std::string text;  // headers and hunks without a final line feed; empty if there are no edits
  std::vector<Hunk> hunks;
  LineNo added = 0, removed = 0;

  LineNo changed_lines() const { return std::max(added, removed); }
  std::size_t lines() const { return hunks.empty() ? 0 : hunks.back().diff_lines; }
};

// `path` as the caller gave it, without a range suffix.
UnifiedDiff unified_diff(std::string_view path, const LineSlice& base, const LineSlice& current, const std::vector<Edit>& edits);

struct DiffRatios {
  double bytes = 0.9, lines = 0.85;
};

// Whether a whole diff is worth sending in place of `current_lines` lines.
bool is_useful(const UnifiedDiff& diff, std::size_t base_bytes, std::size_t current_bytes, LineNo current_lines, DiffRatios ratios = {});

struct AnswerLimits {
  std::size_t max_bytes, max_lines;
};

struct DiffAnswer {
  std::string text;
  std::size_t hunks;             // how many of the diff's are in it
  std::vector<LineRange> shown;  // lines of current in those hunks
  // Lines of current the reader holds after it, if it held what was kept (kept_lines). Behind a hunk that was not sent and
  // shifts lines none: the reader cannot tell which number a line has there.
  std::vector<LineRange> known;
};

// For a full read: the whole diff if it fits, else as many whole hunks as fit and a trailer that names the other changes.
// Nothing if not even one hunk fits, or if there is none.
std::optional<DiffAnswer> cut_diff(const UnifiedDiff& diff, LineNo total, AnswerLimits limits);

// For a range of a file of `total` lines; never cut. Nothing if it does not fit, or if there is no hunk.
std::optional<DiffAnswer> whole_range_diff(const UnifiedDiff& diff, LineRange range, LineNo total, AnswerLimits limits);

}  // namespace weir
