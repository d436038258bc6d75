// What a plain read delivers: the selected lines cut to the limits of one answer, with a notice where something is left
// out. Byte for byte what pi's read tool says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "readcache/line_window.h"
#include "readcache/lines.h"
#include "session/pi_read.h"

namespace weir {

enum class LineCount {
  current,  // as pi 0.87 and newer: the empty line after a final line feed does not count against max_lines
  legacy,   // as pi up to 0.73: it does
};

struct BaselineLimits {
  std::uint64_t max_lines = 2000;
  std::uint64_t max_bytes = 50 * limits::kKiB;
  LineCount line_count = LineCount::current;
};

struct Baseline {
  std::string text;
  std::size_t content_bytes = 0;  // of the text; the rest is a notice
  LineRange window;               // the lines in it; may be none
  std::optional<Truncation> truncation;

  std::string_view content() const { return std::string_view(text).substr(0, content_bytes); }
};

// The selection's head must hold max_bytes + 1 bytes, or all; it becomes the text. `given` is the path in the caller's words.
Baseline make_baseline(Selection selection, const BaselineLimits& limits, std::string_view given);

// "512B", "50.0KB", "1.5MB", halves rounded up.
std::string format_size(std::uint64_t bytes);

}  // namespace weir
