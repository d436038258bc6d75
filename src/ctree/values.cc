#include "base/utf8.h"
#include "ctree/values.h"

#include <algorithm>

namespace weir::ctree {

const json::Value* present(const json::Value& object, std::string_view key) {
  const json::Value* found = object.find(key);
  return found == nullptr || found->is_null() ? nullptr : found;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  const std::size_t from = text.find_first_not_of(kSpace);
  return from == std::string_view::npos ? std::string_view() : text.substr(from, text.find_last_not_of(kSpace) + 1 - from);
}

std::uint32_t code_points(std::string_view text) {
  return static_cast<std::uint32_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace weir::ctree
