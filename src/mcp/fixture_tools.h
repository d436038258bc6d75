// The fixtures' tools, by what they need: an answer alone, or something from the client first.
#pragma once

#include <span>
#include <string_view>

#include "mcp/tools.h"

namespace weir::mcp {

struct FixtureTool {
  std::string_view name, description;
  std::string_view schema;  // of the arguments, as JSON
  ToolOutcome (*run)(Asked& asked, const json::Value& arguments);
};
inline constexpr std::string_view kNoArguments = R"({"type":"object","additionalProperties":false})";

std::span<const FixtureTool> plain_fixtures();
std::span<const FixtureTool> asking_fixtures();

}  // namespace weir::mcp
