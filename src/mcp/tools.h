// The tools: what is listed stands as JSON in each tool's own file, as the contract has it, and is also what arguments are
// checked against. One file per tool.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "mcp/asked.h"

namespace weir::mcp {

// A result object, an error that becomes a result with isError, or a fault of the protocol.
using ToolOutcome = std::variant<json::Value, Error, Fault>;

struct ToolSpec {
  std::string_view name;
  std::string_view listing;  // JSON
  ToolOutcome (*run)(Asked& asked, const json::Value& arguments);
  bool writes = false;  // to the log, if only what was answered
  // What is wrong with the arguments, where the contract has a code of its own for it; null: as it is.
  Error (*refuse)(const json::Value& arguments, Error wrong) = nullptr;
};

extern const ToolSpec kReadTool, kRefreshTool, kNoteTool, kContextTool, kCompactTool, kHistoryTool, kStatusTool;
std::vector<ToolSpec> own_tools();  // in the order they are listed

// One block of text.
json::Value text_result(std::string_view text, json::Arena& arena, const json::Value* meta = nullptr);
// JSON as text and, where the revision knows it, as structuredContent. `text` must outlive the value.
json::Value data_result(const Asked& asked, std::string_view text);
json::Value error_result(const Error& error, json::Arena& arena);

// `result` of one operation as a tool's answer.
ToolOutcome data_from(Asked& asked, std::string_view operation, const json::Value& arguments);

}  // namespace weir::mcp
