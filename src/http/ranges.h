// Parts of an answer (RFC 9110, section 14) and conditions on it.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace weir::http {

struct ByteRange {
  std::size_t first = 0, last = 0;  // both included
  bool satisfiable = true;
};
// Nothing: the header asks for no single range of bytes, so the whole is sent.
std::optional<ByteRange> byte_range(std::string_view header, std::size_t size);

// Does an If-None-Match header name the tag (without its quotes)?
bool names_tag(std::string_view header, std::string_view tag);

}  // namespace weir::http
