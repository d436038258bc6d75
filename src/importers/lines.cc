#include "importers/lines.h"

#include <cstring>

#include "base/limits.h"

namespace weir {
namespace {

constexpr std::size_t kReadBytes = 256 * limits::kKiB;

}  // namespace

Result<bool> LineReader::fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() < end_ + kReadBytes) buffer_.resize(end_ + kReadBytes);
  TRY(const std::size_t n, file_.read(buffer_.data() + end_, buffer_.size() - end_));
  end_ += n;
  return n > 0;
}

Result<std::optional<LineReader::Line>> LineReader::next() {
  std::size_t searched = begin_;
  for (;;) {
    const char* feed = static_cast<const char*>(std::memchr(buffer_.data() + searched, '\n', end_ - searched));
    if (feed != nullptr) {
      const auto at = static_cast<std::size_t>(feed - buffer_.data());
      Line line{std::string_view(buffer_).substr(begin_, at - begin_), true, false};
      line_bytes_ = at + 1 - begin_;
      if (line.text.size() > limits::kImportLineBytes) return over_limit("bytes of a line", limits::kImportLineBytes, line.text.size());
      if (at + 1 == end_) {
        // Is it the last one? Only another read tells, and that one may move the buffer.
        TRY(const bool more, fill());
        line.last = !more;
        line.text = std::string_view(buffer_).substr(begin_, line_bytes_ - 1);
      }
      return std::optional(line);
    }
    const std::size_t have = end_ - begin_;
    if (have > limits::kImportLineBytes) return over_limit("bytes of a line", limits::kImportLineBytes, have);
    TRY(const bool more, fill());
    searched = have;
    if (!more) {
      if (have == 0) return std::optional<Line>();
      line_bytes_ = have;
      return std::optional(Line{std::string_view(buffer_).substr(begin_, have), false, true});
    }
  }
}

void LineReader::take() {
  hash_.update(std::string_view(buffer_).substr(begin_, line_bytes_));
  taken_ += line_bytes_;
  begin_ += line_bytes_;
  line_bytes_ = 0;
}

std::string_view trimmed_line(std::string_view text) {
  while (!text.empty() && (text.back() == '\r' || text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  return text;
}

}  // namespace weir
