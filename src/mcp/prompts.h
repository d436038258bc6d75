// Prompts: text for the model, made of what the log holds.
#pragma once

#include <string_view>
#include <vector>

#include "mcp/asked.h"

namespace weir::mcp {

struct PromptSpec {
  std::string_view name;
  std::string_view listing;  // JSON
  // {"description"?,"messages":[...]}
  std::variant<json::Value, Error, Fault> (*run)(Asked& asked, const json::Value& arguments);
};

std::vector<PromptSpec> own_prompts();

}  // namespace weir::mcp
