// The tool `history`: the whole log is searched.
#include "mcp/tools.h"

namespace weir::mcp {
namespace {

constexpr std::string_view kListing =
    R"({"name":"history","description":"Search this session's whole log, also what lies before a compaction. Returns entry ids with excerpts.","inputSchema":{"type":"object","properties":{"query":{"type":"string"},"where":{"type":"string","enum":["all","before","after"]},"limit":{"type":"integer","minimum":1,"maximum":50},"cursor":{"type":"string"},"session":{"type":"string"},"head":{"type":"string"}},"required":["query"],"additionalProperties":false},"outputSchema":{"type":"object","properties":{"matches":{"type":"array","items":{"type":"object","properties":{"entry":{"type":"string"},"seq":{"type":"integer"},"type":{"type":"string"},"before_barrier":{"type":"boolean"},"text":{"type":"string"}},"required":["entry","seq","type","before_barrier","text"]}},"next":{"type":"string"}},"required":["matches"]},"annotations":{"readOnlyHint":true,"openWorldHint":false}})";

using json::Value;

constexpr std::int64_t kPage = 50;

// The operation calls it `q`.
ToolOutcome run(Asked& asked, const Value& arguments) {
  json::ObjectBuilder out(asked.arena);
  for (const json::Member& member : arguments.members()) out.add(member.key == "query" ? "q" : member.key, member.value);
  if (arguments.find("limit") == nullptr) out.add("limit", kPage);
  ToolOutcome answer = data_from(asked, "history", out.build());
  if (auto* const error = std::get_if<Error>(&answer)) *error = api::renamed_field(std::move(*error), "q", "query");
  return answer;
}

}  // namespace

const ToolSpec kHistoryTool{"history", kListing, run};

}  // namespace weir::mcp
