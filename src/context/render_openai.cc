#include "context/render.h"
#include "context/steps.h"
#include "json/canonical.h"

namespace weir::context {
namespace {

using json::Arena;
using json::Value;

Value image_part(const Image& image, Arena& arena) {
  const std::string_view url =
      image.url.empty() ? arena.copy("data:" + std::string(image.media_type) + ";base64," + std::string(image.data)) : image.url;
  return json::make_object(arena, {{"image_url", json::make_object(arena, {{"url", url}})}, {"type", "image_url"}});
}

Value text_part(std::string_view text, Arena& arena) { return json::make_object(arena, {{"text", text}, {"type", "text"}}); }

// A text alone, or parts: only a user may show images.
Value user_content(const std::vector<Value>& blocks, Arena& arena) {
  if (blocks.size() == 1 && blocks[0].is_string()) return blocks[0];
  std::vector<Value> parts;
  for (const Value& block : blocks) {
    const auto image = block.is_string() ? std::nullopt : image_of(block);
    parts.push_back(image               ? image_part(*image, arena)
                    : block.is_string() ? text_part(block.text(), arena)
                                        : text_part(arena.copy(json::canonical(block)), arena));
  }
  return json::make_array(arena, parts);
}

Value calls_of(const Step& step, Arena& arena) {
  std::vector<Value> out;
  for (const Answered& call : step.calls) {
    const Value function = json::make_object(arena, {{"arguments", arena.copy(json::canonical(call.input))}, {"name", call.name}});
    out.push_back(json::make_object(arena, {{"function", function}, {"id", call.id}, {"type", "function"}}));
  }
  return json::make_array(arena, out);
}

// Results are text; images in them follow the results, handed in by the user.
void add_results(const Step& step, std::vector<Value>& out, Arena& arena) {
  std::vector<Value> images;
  for (const Answered& call : step.calls) {
    std::vector<Value> texts;
    for (const Value& block : call.blocks) {
      const auto image = block.is_string() ? std::nullopt : image_of(block);
      if (image) {
        images.push_back(image_part(*image, arena));
      } else {
        texts.push_back(block);
      }
    }
    out.push_back(json::make_object(arena, {{"content", arena.copy(text_of(texts))}, {"role", "tool"}, {"tool_call_id", call.id}}));
  }
  if (!images.empty()) out.push_back(json::make_object(arena, {{"content", json::make_array(arena, images)}, {"role", "user"}}));
}

void add_step(const Step& step, std::vector<Value>& out, Arena& arena) {
  const Message& message = *step.message;
  if (message.blocks.empty() && step.calls.empty()) return;
  json::ObjectBuilder built(arena);
  built.add("role", role_name(message.role));
  if (message.role == Role::user) {
    built.add("content", user_content(message.blocks, arena));
  } else {
    built.add("content", message.blocks.empty() ? Value() : Value(arena.copy(text_of(message.blocks))));
  }
  if (!step.calls.empty()) built.add("tool_calls", calls_of(step, arena));
  out.push_back(built.build());
  add_results(step, out, arena);
}

}  // namespace

Rendered render_openai(const std::vector<Message>& messages, Arena& arena) {
  Rendered out;
  for (const Step& step : steps_of(messages, Format::openai, arena)) {
    add_step(step, out.messages, arena);
    if (step.message->section <= Section::snapshot) out.prefix_messages = out.messages.size();
    if (step.message->section <= Section::kept) out.kept_messages = out.messages.size();
  }
  return out;
}

}  // namespace weir::context
