#include "readcache/lines.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/check.h"

namespace weir {

LineTable::LineTable(std::string_view text) : text_(text), starts_{0} {
  WEIR_CHECK(text.size() < std::numeric_limits<std::uint32_t>::max());
  std::size_t start = 0;
  while (start < text.size()) {
    const void* const feed = std::memchr(text.data() + start, '\n', text.size() - start);
    if (feed == nullptr) break;
    start = static_cast<std::size_t>(static_cast<const char*>(feed) - text.data()) + 1;
    starts_.push_back(static_cast<std::uint32_t>(start));
  }
  starts_.push_back(static_cast<std::uint32_t>(text.size() + 1));
}

std::string_view LineTable::text(LineRange lines) const {
  WEIR_CHECK(lines.first >= 1 && lines.first <= lines.last && lines.last <= count());
  const std::uint32_t start = starts_[lines.first - 1];
  return text_.substr(start, starts_[lines.last] - 1 - start);
}

std::string_view LineTable::with_end(LineNo line) const {
  const std::uint32_t start = starts_[line - 1];
  return text_.substr(start, starts_[line] - start);
}

LineNo LineTable::line_at(std::size_t offset) const {
  const auto after = std::upper_bound(starts_.begin(), starts_.end() - 1, offset);
  return static_cast<LineNo>(after - starts_.begin());
}

}  // namespace weir
