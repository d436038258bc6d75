// Parameters that many operations have.
#pragma once

#include "api/operation.h"
#include "api/shape.h"

namespace weir::api {

inline constexpr Parameter kSession{.name = "session", .in = In::path, .type = Type::session, .help = "the session's id", .required = true};
inline constexpr Parameter kHead{.name = "head", .type = Type::head, .help = "the head; main if none is named"};
inline constexpr Parameter kAt{
    .name = "at", .type = Type::entry, .help = "the entry, by id or pointer, whose state is asked for; wins over head"};
inline constexpr Parameter kLimit{
    .name = "limit", .type = Type::integer, .help = "how many at most; 100 if nothing is said", .least = 1, .most = 500};
inline constexpr Parameter kCursor{.name = "cursor", .help = "`next` of the page before; all else as it was then"};
inline constexpr Parameter kExpect{.name = "expect",
                                   .in = In::body,
                                   .help = "where the head was seen, CONFLICT if it has moved; null: before the first entry",
                                   .nullable = true};

// The same where what is sent holds it, too.
constexpr Parameter said_again(Parameter parameter) {
  parameter.also_in_body = true;
  return parameter;
}

// The parameters of a route that reads the state of a session.
inline std::vector<Parameter> of_state(std::vector<Parameter> more = {}) {
  std::vector<Parameter> out{kSession, kHead, kAt};
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

// The same of one that is told what it needs in a body.
inline std::vector<Parameter> of_post(std::vector<Parameter> more) {
  std::vector<Parameter> out{said_again(kSession), said_again(kHead), said_again(kAt)};
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

// What an append answers.
inline constexpr std::string_view kAppendShape =
    "{entries:[{seq:integer, id:string, digest:string}], head:string|null, due:boolean, warnings:[string], masked?:{*:integer}}";

// The shape of a page of a list.
inline std::string page_of(const std::string& item) { return "{items:[" + item + "], next?:string}"; }

}  // namespace weir::api
