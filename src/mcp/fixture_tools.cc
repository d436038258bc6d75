// Tools that the conformance suite calls by name and that answer by themselves.
#include "mcp/fixture_tools.h"

#include <chrono>
#include <deque>
#include <thread>

#include "json/canonical.h"
#include "mcp/core.h"
#include "mcp/fixture_data.h"
#include "mcp/fixture_input.h"
#include "mcp/fixtures.h"

namespace weir::mcp {
namespace {

using json::Value;

Value text_block(std::string_view text, json::Arena& arena) { return json::make_object(arena, {{"type", "text"}, {"text", text}}); }

Value data_block(std::string_view type, std::string_view data, std::string_view mime, json::Arena& arena) {
  return json::make_object(arena, {{"type", type}, {"data", data}, {"mimeType", mime}});
}

Value resource_block(std::string_view uri, std::string_view mime, std::string_view text, json::Arena& arena) {
  const Value resource = json::make_object(arena, {{"uri", uri}, {"mimeType", mime}, {"text", text}});
  return json::make_object(arena, {{"type", "resource"}, {"resource", resource}});
}

Value content(std::initializer_list<Value> blocks, json::Arena& arena) {
  return json::make_object(arena, {{"content", json::make_array(arena, std::vector<Value>(blocks))}});
}

// Answers that always are the same.
template <const char* Text>
ToolOutcome say(Asked& asked, const Value&) {
  return text_result(Text, asked.arena);
}
constexpr char kSimple[] = "This is a simple text response for testing.";
constexpr char kSchema[] = "The arguments meet the schema.";
constexpr char kReconnected[] = "The answer was not cut off.";

ToolOutcome image(Asked& asked, const Value&) { return content({data_block("image", kFixturePng, "image/png", asked.arena)}, asked.arena); }
ToolOutcome audio(Asked& asked, const Value&) { return content({data_block("audio", kFixtureWav, "audio/wav", asked.arena)}, asked.arena); }

ToolOutcome resource(Asked& asked, const Value&) {
  return content({resource_block("test://embedded-resource", "text/plain", "This is an embedded resource content.", asked.arena)},
                 asked.arena);
}

ToolOutcome mixed(Asked& asked, const Value&) {
  return content({text_block("Multiple content types test:", asked.arena), data_block("image", kFixturePng, "image/png", asked.arena),
                  resource_block("test://mixed-content-resource", "application/json", R"({"test":"data","value":123})", asked.arena)},
                 asked.arena);
}

ToolOutcome fail(Asked& asked, const Value&) {
  const Value blocks[] = {text_block("This tool intentionally returns an error for testing", asked.arena)};
  return json::make_object(asked.arena, {{"content", json::make_array(asked.arena, blocks)}, {"isError", true}});
}

void pause(std::chrono::milliseconds time) { std::this_thread::sleep_for(time); }

ToolOutcome log_thrice(Asked& asked, const Value&) {
  for (const std::string_view said : {"Tool execution started", "Tool processing data", "Tool execution completed"}) {
    asked.task.log("info", "weir", Value(said));
    pause(std::chrono::milliseconds(50));
  }
  return text_result("Tool with logging executed", asked.arena);
}

ToolOutcome log_once(Asked& asked, const Value&) {
  asked.task.log("info", "weir", Value("a line for those who asked for it"));
  return text_result("Logged for those who want it", asked.arena);
}

// Slow enough that none of its steps is held back: there are at most ten a second.
ToolOutcome step(Asked& asked, const Value&) {
  for (const std::uint64_t done : {0, 50, 100}) {
    asked.task.progress(done, 100);
    if (done != 100) pause(std::chrono::milliseconds(110));
  }
  return text_result("Tool with progress executed", asked.arena);
}

ToolOutcome need_sampling(Asked& asked, const Value&) {
  if (auto fault = check_capability(asked, "sampling/createMessage")) return *fault;
  return text_result("The client can sample", asked.arena);
}

ToolOutcome change_tools(Asked& asked, const Value&) {
  asked.core.subscriptions().publish("notifications/tools/list_changed");
  return text_result("The list of tools was announced as changed", asked.arena);
}

ToolOutcome change_prompts(Asked& asked, const Value&) {
  asked.core.subscriptions().publish("notifications/prompts/list_changed");
  return text_result("The list of prompts was announced as changed", asked.arena);
}

ToolOutcome name_region(Asked& asked, const Value& arguments) {
  return text_result(asked.arena.copy("The region is " + std::string(arguments.text_or("region", "none"))), asked.arena);
}

constexpr std::string_view kRegion =
    R"({"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}},"required":["region"],"additionalProperties":false})";
constexpr std::string_view kAddress =
    R"({"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false})";

constexpr FixtureTool kPlain[] = {
    {"test_simple_text", "Answers with text.", kNoArguments, say<kSimple>},
    {"test_image_content", "Answers with a picture.", kNoArguments, image},
    {"test_audio_content", "Answers with a sound.", kNoArguments, audio},
    {"test_embedded_resource", "Answers with a resource.", kNoArguments, resource},
    {"test_multiple_content_types", "Answers with text, a picture and a resource.", kNoArguments, mixed},
    {"test_tool_with_logging", "Logs three lines before it answers.", kNoArguments, log_thrice},
    {"test_tool_with_progress", "Tells of three steps before it answers.", kNoArguments, step},
    {"test_error_handling", "Always fails.", kNoArguments, fail},
    {"test_reconnection", "Answers, whatever became of the stream.", kNoArguments, say<kReconnected>},
    {"json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features", kAddress, say<kSchema>},
    {"test_missing_capability", "Needs a client that can sample.", kNoArguments, need_sampling},
    {"test_logging_tool", "Logs a line if that is asked for.", kNoArguments, log_once},
    {"test_trigger_tool_change", "Says that the list of tools has changed.", kNoArguments, change_tools},
    {"test_trigger_prompt_change", "Says that the list of prompts has changed.", kNoArguments, change_prompts},
    {"test_custom_headers", "Has an argument that a header repeats.", kRegion, name_region},
};

}  // namespace

std::span<const FixtureTool> plain_fixtures() { return kPlain; }

std::vector<ToolSpec> fixture_tools() {
  // Listings are text that stays.
  static const auto* const listings = [] {
    auto* const out = new std::deque<std::string>();
    for (const auto& table : {plain_fixtures(), asking_fixtures()})
      for (const FixtureTool& tool : table)
        out->push_back("{\"name\":\"" + std::string(tool.name) + "\",\"description\":\"" + std::string(tool.description) +
                       "\",\"inputSchema\":" + std::string(tool.schema) + "}");
    return out;
  }();
  std::vector<ToolSpec> out;
  auto listing = listings->begin();
  for (const auto& table : {plain_fixtures(), asking_fixtures()})
    for (const FixtureTool& tool : table) out.push_back({tool.name, *listing++, tool.run});
  return out;
}

}  // namespace weir::mcp
