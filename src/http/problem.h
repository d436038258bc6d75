// An error as an answer over HTTP: application/problem+json.
#pragma once

#include <string>
#include <string_view>

#include "api/stream.h"
#include "base/result.h"

namespace weir::http {

struct Problem {
  Problem(Error what) : status(info(what.code()).http), error(std::move(what)) {}  // NOLINT: an error is a problem
  // Where HTTP has a status of its own for what the code says.
  Problem(int as, Error what) : status(as), error(std::move(what)) {}

  int status;
  Error error;
  api::Headers headers;  // besides the usual ones
};

// {"type","title","status","detail","instance","code","details"}; `instance` is the path that was asked for.
std::string problem_json(const Problem& problem, std::string_view instance);

// Content-Type, Retry-After where waiting helps, and the problem's own.
api::Headers problem_headers(const Problem& problem);

// "Not Found"
std::string_view reason_phrase(int status);

}  // namespace weir::http
