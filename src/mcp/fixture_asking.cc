// Tools of the conformance suite that need something from the client: a user's word, a model's, or its roots.
#include "json/canonical.h"
#include "mcp/fixture_input.h"
#include "mcp/fixture_tools.h"

namespace weir::mcp {
namespace {

using json::Value;

constexpr std::string_view kElicit = "elicitation/create", kSample = "sampling/createMessage", kRoots = "roots/list";

constexpr std::string_view kName =
    R"({"message":"What is your name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}})";
constexpr std::string_view kConfirm =
    R"({"message":"Please confirm","requestedSchema":{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}})";
constexpr std::string_view kStepOne =
    R"({"message":"Step 1: What is your name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}})";
constexpr std::string_view kStepTwo =
    R"({"message":"Step 2: What is your favorite color?","requestedSchema":{"type":"object","properties":{"color":{"type":"string"}},"required":["color"]}})";
constexpr std::string_view kCapital =
    R"({"messages":[{"role":"user","content":{"type":"text","text":"What is the capital of France?"}}],"maxTokens":100})";
constexpr std::string_view kGreeting =
    R"({"messages":[{"role":"user","content":{"type":"text","text":"Generate a greeting"}}],"maxTokens":50})";
constexpr std::string_view kDefaults =
    R"({"message":"Please review and update the form fields with defaults","requestedSchema":{"type":"object","properties":{"name":{"type":"string","description":"User name","default":"John Doe"},"age":{"type":"integer","description":"User age","default":30},"score":{"type":"number","description":"User score","default":95.5},"status":{"type":"string","description":"User status","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","description":"Verification status","default":true}},"required":[]}})";
constexpr std::string_view kEnums =
    R"({"message":"Please select options from the enum fields","requestedSchema":{"type":"object","properties":{"untitledSingle":{"type":"string","description":"Select one option","enum":["option1","option2","option3"]},"titledSingle":{"type":"string","description":"Select one option with titles","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},"legacyEnum":{"type":"string","description":"Select one option, the old way","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},"untitledMulti":{"type":"array","description":"Select several options","minItems":1,"maxItems":3,"items":{"type":"string","enum":["option1","option2","option3"]}},"titledMulti":{"type":"array","description":"Select several options with titles","minItems":1,"maxItems":3,"items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}},"required":[]}})";

constexpr std::string_view kPromptSchema =
    R"({"type":"object","properties":{"prompt":{"type":"string","description":"what to ask the model"}},"required":["prompt"],"additionalProperties":false})";
constexpr std::string_view kMessageSchema =
    R"({"type":"object","properties":{"message":{"type":"string","description":"what to ask the user"}},"required":["message"],"additionalProperties":false})";

// What the user filled in under a name; empty if it is not there.
std::string filled(const Value& answers, std::string_view key, std::string_view field) {
  const Value* const answer = answers.find(key);
  const Value* const content = answer == nullptr ? nullptr : answer->find("content");
  return content == nullptr ? "" : std::string(content->text_or(field, ""));
}

std::string action_and_content(const Value& answers, std::string_view key) {
  const Value* const answer = answers.find(key);
  const Value* const content = answer->find("content");
  return "action=" + std::string(answer->text_or("action", "")) + ", content=" + (content == nullptr ? "{}" : json::canonical(*content));
}

// What the model said; a list of blocks is shown as JSON.
std::string sampled(const Value& answers, std::string_view key) {
  const Value* const content = answers.find(key)->find("content");
  return content->text_or("type", "") == "text" ? std::string(content->text_or("text", "")) : json::canonical(*content);
}

template <typename Say>
ToolOutcome answer_with(Asked& asked, const Value& arguments, const Form& form, const Say& say) {
  const auto got = gather(asked, arguments, form);
  if (const auto* const instead = std::get_if<ToolOutcome>(&got)) return *instead;
  return text_result(asked.arena.copy(say(std::get<Gathered>(got).answers)), asked.arena);
}

ToolOutcome sample(Asked& asked, const Value& arguments) {
  const Value text = json::make_object(asked.arena, {{"type", "text"}, {"text", arguments.text_or("prompt", "")}});
  const Value messages[] = {json::make_object(asked.arena, {{"role", "user"}, {"content", text}})};
  const std::string params = json::canonical(json::make_object(asked.arena, {{"messages", Value::array(messages)}, {"maxTokens", 100}}));
  return answer_with(asked, arguments, {.rounds = {{{"sample", kSample, params}}}},
                     [](const Value& got) { return "LLM response: " + sampled(got, "sample"); });
}

ToolOutcome elicit(Asked& asked, const Value& arguments) {
  const Value schema = *json::parse_stored(
      R"({"type":"object","properties":{"username":{"type":"string","description":"User's response"},"email":{"type":"string","description":"User's email address"}},"required":["username","email"]})",
      asked.arena);
  const std::string params =
      json::canonical(json::make_object(asked.arena, {{"message", arguments.text_or("message", "")}, {"requestedSchema", schema}}));
  return answer_with(asked, arguments, {.rounds = {{{"user", kElicit, params}}}},
                     [](const Value& got) { return "User response: " + action_and_content(got, "user"); });
}

template <const std::string_view& Params>
ToolOutcome elicit_form(Asked& asked, const Value& arguments) {
  return answer_with(asked, arguments, {.rounds = {{{"form", kElicit, Params}}}},
                     [](const Value& got) { return "Elicitation completed: " + action_and_content(got, "form"); });
}

ToolOutcome ask_name(Asked& asked, const Value& arguments) {
  return answer_with(asked, arguments, {.rounds = {{{"user_name", kElicit, kName}}}},
                     [](const Value& got) { return "Hello, " + filled(got, "user_name", "name") + "!"; });
}

ToolOutcome ask_model(Asked& asked, const Value& arguments) {
  return answer_with(asked, arguments, {.rounds = {{{"capital_question", kSample, kCapital}}}},
                     [](const Value& got) { return sampled(got, "capital_question"); });
}

ToolOutcome ask_roots(Asked& asked, const Value& arguments) {
  return answer_with(asked, arguments, {.rounds = {{{"client_roots", kRoots, "{}"}}}}, [](const Value& got) {
    std::string text = "Roots:";
    for (const Value& root : got.find("client_roots")->find("roots")->items()) text += " " + std::string(root.text_or("uri", ""));
    return text;
  });
}

// With a state that the client carries; one that was changed on the way is refused.
ToolOutcome confirm(Asked& asked, const Value& arguments) {
  return answer_with(asked, arguments, {.rounds = {{{"confirm", kElicit, kConfirm}}}, .state = true},
                     [](const Value&) { return std::string("state-ok"); });
}

ToolOutcome ask_all(Asked& asked, const Value& arguments) {
  const Form form{.rounds = {{{"user_name", kElicit, kName}, {"greeting", kSample, kGreeting}, {"client_roots", kRoots, "{}"}}},
                  .state = true};
  return answer_with(asked, arguments, form,
                     [](const Value& got) { return sampled(got, "greeting") + " " + filled(got, "user_name", "name"); });
}

ToolOutcome ask_twice(Asked& asked, const Value& arguments) {
  const Form form{.rounds = {{{"step1", kElicit, kStepOne}}, {{"step2", kElicit, kStepTwo}}}, .state = true};
  return answer_with(asked, arguments, form,
                     [](const Value& got) { return filled(got, "step1", "name") + " likes " + filled(got, "step2", "color"); });
}

// Only what the client can do.
ToolOutcome ask_able(Asked& asked, const Value& arguments) {
  const Form form{.rounds = {{{"user_name", kElicit, kName}, {"greeting", kSample, kGreeting}}}, .only_declared = true};
  return answer_with(asked, arguments, form, [](const Value& got) { return std::to_string(got.members().size()) + " answers"; });
}

constexpr FixtureTool kAsking[] = {
    {"test_sampling", "Asks the client's model.", kPromptSchema, sample},
    {"test_elicitation", "Asks the user.", kMessageSchema, elicit},
    {"test_elicitation_sep1034_defaults", "Asks the user, with defaults.", kNoArguments, elicit_form<kDefaults>},
    {"test_elicitation_sep1330_enums", "Asks the user to choose, in five ways.", kNoArguments, elicit_form<kEnums>},
    {"test_streaming_elicitation", "Asks the user; never by a request on the stream.", kNoArguments, ask_name},
    {"test_input_required_result_elicitation", "Asks the user for a name.", kNoArguments, ask_name},
    {"test_input_required_result_sampling", "Asks the client's model for a capital.", kNoArguments, ask_model},
    {"test_input_required_result_list_roots", "Asks the client for its roots.", kNoArguments, ask_roots},
    {"test_input_required_result_request_state", "Asks for a confirmation, with a state.", kNoArguments, confirm},
    {"test_input_required_result_multiple_inputs", "Asks for three things at once.", kNoArguments, ask_all},
    {"test_input_required_result_multi_round", "Asks twice.", kNoArguments, ask_twice},
    {"test_input_required_result_tampered_state", "Refuses a state that was changed.", kNoArguments, confirm},
    {"test_input_required_result_capabilities", "Asks only what the client can answer.", kNoArguments, ask_able},
};

}  // namespace

std::span<const FixtureTool> asking_fixtures() { return kAsking; }

}  // namespace weir::mcp
