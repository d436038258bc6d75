// The head of a request, byte by byte, before a parser sees it. Whatever two programs could read differently is refused here:
// bare line feeds, folded lines, spaces before a colon, bytes that are no text, targets that are no path.
#pragma once

#include <optional>
#include <string_view>

#include "http/problem.h"

namespace weir::http {

struct HeadLimits {
  std::size_t url_bytes, header_bytes, headers;
};

// `head` ends with its empty line.
std::optional<Problem> check_head(std::string_view head, const HeadLimits& limits);

// The same for the beginning of a head: only what is too long already.
std::optional<Problem> check_partial_head(std::string_view begin, const HeadLimits& limits);

// 400, and the connection is of no more use.
Problem malformed(std::string message);

}  // namespace weir::http
