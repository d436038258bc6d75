// What a tool call does to files, commands and todos, told from its name and arguments.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "compaction/run_state.h"
#include "json/value.h"
#include "session/pmap.h"

namespace weir::compaction {

std::optional<ToolClass> parse_tool_class(std::string_view name);

// Lower case, after the last `__`: hosts put a server's name before a tool's.
std::string plain_tool_name(std::string_view name);

// Entry and request are the caller's to fill in.
Call read_call(std::string_view name, const json::Value* arguments, const PMap<std::string, ToolClass>& more_names);

// A path as a snapshot shows it: joined to the working directory, cleaned, and relative to it where it lies below.
std::string carried_path(std::string_view cwd, std::string_view path);

}  // namespace weir::compaction
