// Prompts that the conformance suite gets by name.
#include "json/canonical.h"
#include "mcp/fixture_data.h"
#include "mcp/fixture_input.h"
#include "mcp/fixtures.h"

namespace weir::mcp {
namespace {

using json::Value;
using PromptOutcome = std::variant<Value, Error, Fault>;

Value message(Value content, json::Arena& arena) { return json::make_object(arena, {{"role", "user"}, {"content", content}}); }

Value text(std::string_view said, json::Arena& arena) {
  return message(json::make_object(arena, {{"type", "text"}, {"text", arena.copy(said)}}), arena);
}

Value messages(std::initializer_list<Value> list, json::Arena& arena) {
  return json::make_object(arena, {{"messages", json::make_array(arena, std::vector<Value>(list))}});
}

PromptOutcome simple(Asked& asked, const Value&) {
  return messages({text("This is a simple prompt for testing.", asked.arena)}, asked.arena);
}

PromptOutcome with_arguments(Asked& asked, const Value& arguments) {
  return messages({text("Prompt with arguments: arg1='" + std::string(arguments.text_or("arg1", "")) + "', arg2='" +
                            std::string(arguments.text_or("arg2", "")) + "'",
                        asked.arena)},
                  asked.arena);
}

PromptOutcome with_resource(Asked& asked, const Value& arguments) {
  const Value resource = json::make_object(asked.arena, {{"uri", asked.arena.copy(arguments.text_or("resourceUri", ""))},
                                                         {"mimeType", "text/plain"},
                                                         {"text", "Embedded resource content for testing."}});
  return messages({message(json::make_object(asked.arena, {{"type", "resource"}, {"resource", resource}}), asked.arena),
                   text("Please process the embedded resource above.", asked.arena)},
                  asked.arena);
}

PromptOutcome with_image(Asked& asked, const Value&) {
  const Value image = json::make_object(asked.arena, {{"type", "image"}, {"data", kFixturePng}, {"mimeType", "image/png"}});
  return messages({message(image, asked.arena), text("Please analyze the image above.", asked.arena)}, asked.arena);
}

PromptOutcome with_input(Asked& asked, const Value& arguments) {
  const Form form{
      .rounds = {
          {{"user_context", "elicitation/create",
            R"({"message":"What context should the prompt use?","requestedSchema":{"type":"object","properties":{"context":{"type":"string"}},"required":["context"]}})"}}}};
  const auto got = gather(asked, arguments, form);
  if (const auto* const instead = std::get_if<ToolOutcome>(&got)) {
    // A prompt has no result that says that it failed.
    if (!asked.task.modern()) return Fault{.code = code::kParams, .message = "the client must answer elicitation/create"};
    return *instead;
  }
  const Value* const content = std::get<Gathered>(got).answers.find("user_context")->find("content");
  const std::string context(content == nullptr ? "none" : content->text_or("context", "none"));
  return messages({text("Use this context: " + context, asked.arena)}, asked.arena);
}

}  // namespace

std::vector<PromptSpec> fixture_prompts() {
  return {
      {"test_simple_prompt", R"({"name":"test_simple_prompt","description":"One message, no arguments."})", simple},
      {"test_prompt_with_arguments",
       R"({"name":"test_prompt_with_arguments","description":"A message that repeats its arguments.","arguments":[{"name":"arg1","description":"First test argument","required":true},{"name":"arg2","description":"Second test argument","required":true}]})",
       with_arguments},
      {"test_prompt_with_embedded_resource",
       R"({"name":"test_prompt_with_embedded_resource","description":"A message that holds a resource.","arguments":[{"name":"resourceUri","description":"URI of the resource to embed","required":true}]})",
       with_resource},
      {"test_prompt_with_image", R"({"name":"test_prompt_with_image","description":"A message that holds a picture."})", with_image},
      {"test_input_required_result_prompt",
       R"({"name":"test_input_required_result_prompt","description":"Asks the user before it answers."})", with_input},
  };
}

}  // namespace weir::mcp
