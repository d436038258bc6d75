// The tool `context`: the next prompt.
#include "json/parse.h"
#include "mcp/tools.h"

namespace weir::mcp {
namespace {

constexpr std::string_view kListing =
    R"({"name":"context","description":"The messages of the next prompt at a head, within a byte budget, with the reason for each and for what was left out.","inputSchema":{"type":"object","properties":{"budget_bytes":{"type":"integer","minimum":1},"format":{"type":"string","enum":["anthropic","openai","plain"]},"at":{"type":"string"},"session":{"type":"string"},"head":{"type":"string"}},"additionalProperties":false},"annotations":{"readOnlyHint":true,"openWorldHint":false}})";

using json::Value;

// The text is the whole answer; what a host wants to note about it stands beside it.
ToolOutcome run(Asked& asked, const Value& arguments) {
  auto answer = asked.call("context", arguments);
  if (!answer.ok()) return std::move(answer).error();
  const std::string_view text = asked.arena.copy(*answer);
  const auto parsed = json::parse_stored(text, asked.arena);
  if (!parsed.ok()) return parsed.error();
  // Neighbours that are out for one reason are one record with a count.
  std::int64_t left_out = 0;
  for (const Value& record : parsed->find("exclusion")->items()) {
    const Value* const count = record.find("count");
    left_out += count == nullptr ? 1 : count->integer();
  }
  json::ObjectBuilder record(asked.arena);
  record.add_if("manifest", parsed->find("manifest_id")).add("bytes", *parsed->find("used")->find("bytes"));
  record.add("included", parsed->find("items")->items().size()).add("left_out", left_out);
  const Value meta = json::make_object(asked.arena, {{"dev.weir/context", record.build()}});
  return text_result(text, asked.arena, &meta);
}

}  // namespace

const ToolSpec kContextTool{"context", kListing, run, true};

}  // namespace weir::mcp
