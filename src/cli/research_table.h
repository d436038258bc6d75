// The rows of the command table that belong to research runs.
#pragma once

#include <vector>

#include "cli/spec.h"

namespace weir::cli {

std::vector<CommandSpec> research_commands();

}  // namespace weir::cli
