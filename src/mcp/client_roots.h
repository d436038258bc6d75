// The directories a client says it works in. They can only narrow what the server allows.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mcp/asked.h"

namespace weir::mcp {

// The path of a file: URI; empty if it is none.
std::string path_of_uri(std::string_view uri);

// Where the client of this request works, by canonical names; nothing: it does not say. One that can say so is asked once, and
// again when it tells of a change. Who gives no answer has changed nothing.
std::optional<std::vector<std::string>> client_roots(Asked& asked);

// Would client_roots have to ask?
bool must_ask_roots(const Task& task);

}  // namespace weir::mcp
