// The lines of a text as the read cache counts them, from 1: what stands between line feeds; a carriage return belongs to
// its line. A final line feed makes one more, empty line: "a\n" has two lines, the empty text has one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "session/line_range.h"

namespace weir {

// Where each line starts: four bytes a line. The text must outlive the table and be smaller than 4 GiB.
class LineTable {
 public:
  explicit LineTable(std::string_view text);

  LineNo count() const { return static_cast<LineNo>(starts_.size() - 1); }
  // Lines as diff and patch count them: a line feed ends a line, so the empty line after the last one is none.
  LineNo patch_count() const { return starts_[count() - 1] == text_.size() ? count() - 1 : count(); }

  std::string_view text(LineNo line) const { return text({line, line}); }
  std::string_view text(LineRange lines) const;  // with the line feeds between them, without the one after them
  std::string_view with_end(LineNo line) const;  // with its line feed, if it has one
  bool has_end(LineNo line) const { return line < count(); }
  LineNo line_at(std::size_t offset) const;  // the line this byte belongs to
  std::size_t start_of(LineNo line) const { return starts_[line - 1]; }

 private:
  std::string_view text_;
  std::vector<std::uint32_t> starts_;  // of each line, and where one more would start if the text ended with a line feed
};

// Some lines of a text: one side of a diff. The table must outlive the slice.
struct LineSlice {
  LineSlice(const LineTable& whole) : table(whole), range{1, whole.count()} {}  // NOLINT: implicit on purpose
  LineSlice(const LineTable& of, LineRange lines) : table(of), range(lines) {}

  // One past the last line that patch counts.
  LineNo patch_end() const { return std::max(range.first, std::min(range.last, table.patch_count()) + 1); }
  // The empty line after a final line feed is in it.
  bool has_empty_end() const { return !range.empty() && range.last > table.patch_count(); }
  // The text's last line is in it, and no line feed ends it.
  bool ends_without_feed() const { return !range.empty() && range.last == table.count() && !has_empty_end(); }

  const LineTable& table;
  LineRange range;
};

}  // namespace weir
