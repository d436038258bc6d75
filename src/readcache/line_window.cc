#include "readcache/line_window.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace weir {
namespace {

// Just past the n-th line feed of `text`, n > 0, which has that many.
std::size_t past_newline(std::string_view text, std::uint64_t n) {
  std::size_t at = 0;
  for (; n > 0; --n) at = text.find('\n', at) + 1;
  return at;
}

}  // namespace

std::uint64_t count_newlines(std::string_view text) {
  using Lanes = unsigned char __attribute__((vector_size(16)));
  constexpr std::size_t kMostRounds = 255;  // what a lane can count
  const Lanes newlines = Lanes{} + static_cast<unsigned char>('\n');
  std::uint64_t count = 0;
  while (text.size() >= sizeof(Lanes)) {
    Lanes counts{};
    const std::size_t rounds = std::min(text.size() / sizeof(Lanes), kMostRounds);
    for (std::size_t i = 0; i < rounds; ++i) {
      Lanes bytes;
      std::memcpy(&bytes, text.data() + i * sizeof(Lanes), sizeof(Lanes));
      counts -= reinterpret_cast<Lanes>(bytes == newlines);  // equal lanes are all ones, which is -1
    }
    for (std::size_t lane = 0; lane < sizeof(Lanes); ++lane) count += counts[lane];
    text.remove_prefix(rounds * sizeof(Lanes));
  }
  return count + static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

LineWindow::LineWindow(const LineRequest& request, std::size_t keep_bytes)
    : start_(request.offset.value_or(1)), most_(request.limit.value_or(UINT64_MAX)), keep_bytes_(keep_bytes) {}

void LineWindow::add(std::string_view part) {
  const std::uint64_t before = newlines_, first = start_ - 1;  // the selection begins past the first-th line feed
  newlines_ += count_newlines(part);
  if (newlines_ < first || (before >= first && before - first >= most_)) return;  // all of it before, or behind
  std::uint64_t seen = before;
  if (before < first) {
    part.remove_prefix(past_newline(part, first - before));
    seen = first;
  }
  const std::uint64_t left = most_ - (seen - first);  // the selection ends before the left-th line feed from here
  if (newlines_ - seen >= left) part = part.substr(0, past_newline(part, left) - 1);
  take(part);
}

void LineWindow::take(std::string_view selected) {
  if (selected.empty()) return;
  selection_.bytes += selected.size();
  selection_.final_newline = selected.ends_with('\n');
  if (in_first_line_) {
    const std::size_t newline = selected.find('\n');
    in_first_line_ = newline == std::string_view::npos;
    selection_.first_line_bytes += in_first_line_ ? selected.size() : newline;
  }
  if (selection_.head.empty()) selection_.head.reserve(keep_bytes_);
  selection_.head += selected.substr(0, keep_bytes_ - selection_.head.size());
}

Result<Selection> LineWindow::finish() {
  const std::uint64_t total = newlines_ + 1;
  if (start_ > total) {
    return Error(ErrorCode::OFFSET_BEYOND_END, fmt::format("Offset {} is beyond end of file ({} lines total)", start_, total));
  }
  selection_.start = start_;
  selection_.end = most_ > total - start_ ? total : start_ + most_ - 1;
  selection_.total_lines = total;
  return std::move(selection_);
}

}  // namespace weir
