// The head of an answer as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/stream.h"
#include "base/time.h"

namespace weir::http {

struct AnswerHead {
  int status = 200;
  std::optional<std::uint64_t> content_length;  // of a body that is whole
  bool chunked = false, close = false;
};

// Adds what every answer has: Date, Cache-Control unless it was given, nosniff, length or chunks, Connection.
std::string answer_head(const AnswerHead& head, const api::Headers& headers, std::string_view date);

// Sun, 06 Nov 1994 08:49:37 GMT
std::string http_date(TimeMs time);

}  // namespace weir::http
