#include "http/ranges.h"

#include <charconv>

#include "http/text.h"

namespace weir::http {
namespace {

std::optional<std::size_t> number(std::string_view text) {
  std::size_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && !text.empty() ? std::optional(out) : std::nullopt;
}

}  // namespace

std::optional<ByteRange> byte_range(std::string_view header, std::size_t size) {
  constexpr std::string_view kUnit = "bytes=";
  if (!header.starts_with(kUnit) || header.find(',') != std::string_view::npos) return std::nullopt;
  const std::string_view range = trimmed(header.substr(kUnit.size()));
  const std::size_t dash = range.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto first = number(range.substr(0, dash)), last = number(range.substr(dash + 1));
  if (dash == 0) {
    if (!last) return std::nullopt;
    if (*last == 0 || size == 0) return ByteRange{0, 0, false};
    return ByteRange{*last < size ? size - *last : 0, size - 1};
  }
  if (!first || (!last && dash + 1 != range.size()) || (last && *last < *first)) return std::nullopt;
  if (*first >= size) return ByteRange{0, 0, false};
  return ByteRange{*first, last && *last < size ? *last : size - 1};
}

bool names_tag(std::string_view header, std::string_view tag) {
  for (std::string_view one : split(header, ',')) {
    one = trimmed(one);
    if (one == "*") return true;
    if (one.starts_with("W/")) one.remove_prefix(2);
    if (one.size() >= 2 && one.front() == '"' && one.back() == '"' && one.substr(1, one.size() - 2) == tag) return true;
  }
  return false;
}

}  // namespace weir::http
