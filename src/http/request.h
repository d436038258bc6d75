// A request as it came over the wire, its head checked and its body whole.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/stream.h"

namespace weir::http {

struct Request {
  std::string method, target;
  int version = 11;      // 10 or 11
  api::Headers headers;  // names in lower case; those of one name are joined by ", "
  std::string body;
  bool keep_alive = true;
  bool has_body = false;  // one is announced
  std::optional<std::uint64_t> content_length;

  // The name in lower case; empty if it is not there.
  std::string_view header(std::string_view name) const {
    for (const auto& [key, value] : headers)
      if (key == name) return value;
    return {};
  }
  bool has(std::string_view name) const {
    for (const auto& [key, value] : headers)
      if (key == name) return true;
    return false;
  }
  std::string_view path() const { return std::string_view(target).substr(0, target.find('?')); }
  std::string_view query() const {
    const std::size_t mark = target.find('?');
    return mark == std::string::npos ? std::string_view() : std::string_view(target).substr(mark + 1);
  }
};

}  // namespace weir::http
