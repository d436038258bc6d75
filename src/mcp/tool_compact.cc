// The tool `compact`: the log gets a barrier.
#include "mcp/tools.h"

namespace weir::mcp {
namespace {

constexpr std::string_view kListing =
    R"({"name":"compact","description":"Build and check a compaction snapshot and write it as the new barrier. dry_run=true checks and writes nothing.","inputSchema":{"type":"object","properties":{"dry_run":{"type":"boolean"},"max_bytes":{"type":"integer","minimum":0},"session":{"type":"string"},"head":{"type":"string"}},"additionalProperties":false},"outputSchema":{"type":"object","properties":{"status":{"type":"string","enum":["PASS","FAIL"]},"action":{"type":"string","enum":["NONE","RETRY","SYSTEM_ERROR"]},"snapshot_id":{"type":"string"},"sequence":{"type":"integer"},"entry":{"type":"string"},"failed":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"message":{"type":"string"}},"required":["name","message"]}},"narrative":{"type":"string"}},"required":["status","action","failed"]},"annotations":{"destructiveHint":false,"openWorldHint":false}})";

ToolOutcome run(Asked& asked, const json::Value& arguments) { return data_from(asked, "compact", arguments); }

}  // namespace

const ToolSpec kCompactTool{"compact", kListing, run, true};

}  // namespace weir::mcp
