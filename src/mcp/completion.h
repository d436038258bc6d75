// What a word that is being typed may become: the argument of a prompt or of a resource template.
#pragma once

#include "mcp/asked.h"

namespace weir::mcp {

// {"completion":{"values","total","hasMore"}}
Outcome complete(Asked& asked, const json::Value& params);

}  // namespace weir::mcp
