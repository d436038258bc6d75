// MCP over two descriptors: one JSON object a line, nothing else.
#pragma once

#include <functional>

#include "base/result.h"
#include "mcp/core.h"

namespace weir::mcp {

Result<void> serve_lines(Core& core, int in, int out, const std::function<bool()>& stop);

}  // namespace weir::mcp
