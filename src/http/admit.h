// The doors of a request, in their order: Host, Origin, token, method, what it sends, what it takes, its query.
#pragma once

#include "http/doors.h"
#include "http/exchange.h"
#include "http/limits.h"
#include "http/router.h"

namespace weir::http {

struct Entrance {
  const Router& router;
  const Guests& guests;
  const Limits& limits;
};
Admission admit(const Request& request, const Entrance& entrance);

// The media type of an operation's answers; empty: they have no body.
std::string_view media_type(api::Answers answers);

}  // namespace weir::http
