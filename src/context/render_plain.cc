#include "context/render.h"
#include "context/steps.h"

namespace weir::context {
namespace {

using json::Arena;
using json::Value;

void add_step(const Step& step, std::vector<Value>& out, Arena& arena) {
  const Message& message = *step.message;
  if (message.blocks.empty() && step.calls.empty()) return;
  json::ObjectBuilder built(arena);
  built.add("role", role_name(message.role)).add("text", arena.copy(text_of(message.blocks)));
  std::vector<Value> calls;
  for (const Answered& call : step.calls) {
    calls.push_back(json::make_object(arena, {{"arguments", call.input}, {"id", call.id}, {"name", call.name}}));
  }
  if (!calls.empty()) built.add("calls", json::make_array(arena, calls));
  out.push_back(built.build());
  for (const Answered& call : step.calls) {
    out.push_back(
        json::make_object(arena, {{"call", call.id}, {"role", role_name(Role::tool)}, {"text", arena.copy(text_of(call.blocks))}}));
  }
}

}  // namespace

Rendered render_plain(const std::vector<Message>& messages, Arena& arena) {
  Rendered out;
  for (const Step& step : steps_of(messages, Format::plain, arena)) {
    add_step(step, out.messages, arena);
    if (step.message->section <= Section::snapshot) out.prefix_messages = out.messages.size();
    if (step.message->section <= Section::kept) out.kept_messages = out.messages.size();
  }
  return out;
}

}  // namespace weir::context
