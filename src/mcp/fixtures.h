// What the public conformance suite calls by name. Served by `--conformance` only, beside an empty store; the real server
// lists and answers none of it.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "mcp/prompts.h"
#include "mcp/tools.h"

namespace weir::mcp {

std::vector<ToolSpec> fixture_tools();
std::vector<PromptSpec> fixture_prompts();
std::vector<std::string_view> fixture_resources();  // JSON, as listed
std::vector<std::string_view> fixture_templates();

// {"contents":[...]} of a fixture; nothing: it is none.
std::optional<json::Value> fixture_resource(std::string_view uri, json::Arena& arena);

// Values for the argument of a fixture's prompt or template; nothing: it is none.
std::optional<std::vector<std::string>> fixture_completion(std::string_view reference, std::string_view argument);

}  // namespace weir::mcp
