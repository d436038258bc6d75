// The tool `refresh`: trust in a file is withdrawn.
#include "mcp/tools.h"

namespace weir::mcp {
namespace {

constexpr std::string_view kListing =
    R"({"name":"refresh","description":"Withdraw trust in a file, or in lines start to end of it. The next read of that scope sends the full text.","inputSchema":{"type":"object","properties":{"path":{"type":"string"},"start":{"type":"integer","minimum":1},"end":{"type":"integer","minimum":1},"session":{"type":"string"},"head":{"type":"string"}},"required":["path"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"entry":{"type":"string"},"path":{"type":"string"},"scope":{"type":"string"}},"required":["entry","path","scope"]},"annotations":{"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}})";

ToolOutcome run(Asked& asked, const json::Value& arguments) { return data_from(asked, "refresh", arguments); }

}  // namespace

const ToolSpec kRefreshTool{"refresh", kListing, run, true};

}  // namespace weir::mcp
