// How a fixture gets something from the client: by a request on the answer's stream in the legacy era, by a result that asks
// for it and is followed by the same call with the answers in the modern one.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "mcp/tools.h"

namespace weir::mcp {

struct Wish {
  std::string_view key;
  std::string_view method;  // sampling/createMessage, elicitation/create or roots/list
  std::string_view params;  // JSON
};

struct Form {
  std::vector<std::vector<Wish>> rounds;  // all wishes of one are asked together
  bool state = false;                     // the client must carry a state from round to round
  bool only_declared = false;             // leave out what the client cannot do, instead of refusing
};

struct Gathered {
  json::Value answers;  // an object by key
};

// What the client gave, or what it is to be told instead.
std::variant<Gathered, ToolOutcome> gather(Asked& asked, const json::Value& arguments, const Form& form);

// A fault if the client did not declare what the method needs.
std::optional<Fault> check_capability(const Asked& asked, std::string_view method);

}  // namespace weir::mcp
