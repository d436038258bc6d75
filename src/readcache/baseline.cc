#include "readcache/baseline.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir {
namespace {

std::uint64_t counted_lines(const Selection& selection, LineCount mode) {
  const std::uint64_t lines = selection.end - selection.start + 1;
  if (mode == LineCount::legacy) return lines;
  return lines - (selection.final_newline || selection.bytes == 0 ? 1 : 0);
}

// Takes whole lines of the head while they fit.
Truncation cut(const Selection& selection, std::uint64_t lines, const BaselineLimits& limits) {
  Truncation out{.total_lines = lines, .total_bytes = selection.bytes};
  if (selection.first_line_bytes > limits.max_bytes) {
    out.by = Truncation::By::bytes;
    out.first_line_exceeds_limit = true;
    return out;
  }
  while (out.output_lines < std::min(lines, limits.max_lines)) {
    const std::size_t newline = selection.head.find('\n', out.output_lines == 0 ? 0 : out.output_bytes + 1);
    const std::size_t end = std::min(newline, selection.head.size());
    if (end > limits.max_bytes) {
      out.by = Truncation::By::bytes;
      break;
    }
    out.output_bytes = end;
    ++out.output_lines;
  }
  return out;
}

std::string notice(const Selection& selection, const Truncation& cut, const BaselineLimits& limits, std::string_view given) {
  const std::uint64_t first = selection.start, next = first + cut.output_lines;
  const std::string limit = format_size(limits.max_bytes);
  if (cut.first_line_exceeds_limit) {
    return fmt::format("[Line {} is {}, exceeds {} limit. Use bash: sed -n '{}p' {} | head -c {}]", first,
                       format_size(selection.first_line_bytes), limit, first, given, limits.max_bytes);
  }
  return fmt::format("\n\n[Showing lines {}-{} of {}{}. Use offset={} to continue.]", first, next - 1, selection.total_lines,
                     cut.by == Truncation::By::bytes ? fmt::format(" ({} limit)", limit) : "", next);
}

LineRange line_range(std::uint64_t first, std::uint64_t last) { return {static_cast<LineNo>(first), static_cast<LineNo>(last)}; }

}  // namespace

Baseline make_baseline(Selection selection, const BaselineLimits& limits, std::string_view given) {
  const std::uint64_t lines = counted_lines(selection, limits.line_count);
  Baseline out;
  if (lines > limits.max_lines || selection.bytes > limits.max_bytes) {
    const Truncation& truncation = out.truncation.emplace(cut(selection, lines, limits));
    out.content_bytes = truncation.output_bytes;
    out.text = std::move(selection.head);
    out.text.resize(out.content_bytes);
    out.text += notice(selection, truncation, limits, given);
    out.window = line_range(selection.start, selection.start + truncation.output_lines - 1);
    return out;
  }
  out.content_bytes = selection.bytes;
  out.text = std::move(selection.head);
  out.window = line_range(selection.start, selection.end);
  if (selection.end < selection.total_lines) {
    out.text +=
        fmt::format("\n\n[{} more lines in file. Use offset={} to continue.]", selection.total_lines - selection.end, selection.end + 1);
  }
  return out;
}

std::string format_size(std::uint64_t bytes) {
  constexpr std::uint64_t kUnits[] = {limits::kKiB, limits::kMiB};
  if (bytes < kUnits[0]) return fmt::format("{}B", bytes);
  const bool large = bytes >= kUnits[1];
  const std::uint64_t unit = kUnits[large], tenths = (10 * bytes + unit / 2) / unit;
  return fmt::format("{}.{}{}", tenths / 10, tenths % 10, large ? "MB" : "KB");
}

}  // namespace weir
