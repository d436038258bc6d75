// The lines a caller asked for, picked out of a text that passes by in parts. A line is what stands between line feeds; a
// final line feed makes one more, empty, line. Keeps a bounded head of the selected text and counts the rest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weir {

struct LineRequest {
  std::optional<std::uint64_t> offset;  // the first line, from 1; default 1
  std::optional<std::uint64_t> limit;   // how many; default all
};

struct Selection {
  std::uint64_t start = 1, end = 1;  // both included
  std::uint64_t total_lines = 1;     // of the file
  std::uint64_t bytes = 0;           // of the selected text: its lines with a line feed between them
  std::uint64_t first_line_bytes = 0;
  bool final_newline = false;  // the selected text ends with one
  std::string head;            // its beginning, as much as LineWindow was told to keep

  bool is_full() const { return start == 1 && end == total_lines; }
};

class LineWindow {
 public:
  LineWindow(const LineRequest& request, std::size_t keep_bytes);

  void add(std::string_view part);
  // OFFSET_BEYOND_END if the text has fewer lines than that.
  Result<Selection> finish();

 private:
  void take(std::string_view selected);

  std::uint64_t start_, most_;  // first line, and how many at most
  std::size_t keep_bytes_;
  std::uint64_t newlines_ = 0;  // so far
  bool in_first_line_ = true;   // of the selection
  Selection selection_;
};

std::uint64_t count_newlines(std::string_view text);

}  // namespace weir
