// What a method, tool, prompt or resource is given to answer with.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "api/call.h"
#include "mcp/protocol.h"
#include "mcp/task.h"

namespace weir::mcp {

class Core;

// How long an answer may be kept by the client.
struct Caching {
  std::int64_t ttl_ms = 0;
  bool shared = false;  // "public"
};

struct Asked {
  Core& core;
  api::World& world;
  Task& task;
  json::Arena& arena;  // what the answer is made of
  std::optional<Caching> caching = std::nullopt;

  // An operation of the API with these arguments; its answer as JSON text. The session is the one named, else the server's.
  Result<std::string> call(std::string_view operation, const json::Value& arguments);
  // The same, for arguments that hold no session where one is needed.
  Result<json::Value> with_session(const json::Value& arguments);
  std::optional<std::string> session_of(const json::Value& arguments) const;
};

// A name among the arguments; INVALID_FIELD says which.
template <typename Name>
Result<Name> parse_argument(std::string_view argument, std::string_view text) {
  auto name = Name::parse(text);
  if (!name.ok()) return api::wrong_argument(argument, name.error().message());
  return name;
}

using Outcome = std::variant<json::Value, Fault>;

// {"code","message","details"} as JSON text.
std::string error_text(const Error& error);

// INVALID_FIELD and NOT_FOUND are the caller's; everything else is reported as what it is.
Fault fault_of(const Error& error);

}  // namespace weir::mcp
