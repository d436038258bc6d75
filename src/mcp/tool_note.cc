// The tool `note`: what must survive a compaction.
#include "mcp/tools.h"

namespace weir::mcp {
namespace {

constexpr std::string_view kListing =
    R"({"name":"note","description":"Record a claim, evidence, conflict, open question, failure or the next actions in the run's log, so that they survive compaction.","inputSchema":{"type":"object","properties":{"kind":{"type":"string","enum":["claim","evidence","conflict","question","failure","next"]},"op":{"type":"string","enum":["add","verify","downgrade","retract","attach","detach","withdraw","resolve","close"]},"id":{"type":"string"},"text":{"type":"string"},"refs":{"type":"array","items":{"type":"string"}},"other":{"type":"array","items":{"type":"string"}},"category":{"type":"string"},"where":{"type":"string"},"span":{"type":"object","properties":{"chunk":{"type":"string"},"start":{"type":"integer","minimum":0},"end":{"type":"integer","minimum":1}},"required":["chunk","start","end"],"additionalProperties":false},"session":{"type":"string"},"head":{"type":"string"}},"required":["kind"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"entry":{"type":"string"},"type":{"type":"string"},"id":{"type":"string"},"due":{"type":"boolean"}},"required":["entry","type","id","due"]},"annotations":{"destructiveHint":false,"openWorldHint":false},"_meta":{"anthropic/alwaysLoad":true}})";

ToolOutcome run(Asked& asked, const json::Value& arguments) { return data_from(asked, "note", arguments); }

}  // namespace

const ToolSpec kNoteTool{"note", kListing, run, true};

}  // namespace weir::mcp
