#include "mcp/tools.h"

#include "json/canonical.h"
#include "mcp/client_roots.h"
#include "mcp/core.h"

namespace weir::mcp {

using json::Value;

std::vector<ToolSpec> own_tools() { return {kReadTool, kRefreshTool, kNoteTool, kContextTool, kCompactTool, kHistoryTool, kStatusTool}; }

Value text_result(std::string_view text, json::Arena& arena, const Value* meta) {
  const Value blocks[] = {json::make_object(arena, {{"type", "text"}, {"text", text}})};
  json::ObjectBuilder out(arena);
  return out.add("content", json::make_array(arena, blocks)).add_if("_meta", meta).build();
}

Value data_result(const Asked& asked, std::string_view text) {
  const Value blocks[] = {json::make_object(asked.arena, {{"type", "text"}, {"text", text}})};
  json::ObjectBuilder out(asked.arena);
  out.add("content", json::make_array(asked.arena, blocks));
  if (has(asked.task.revision, Feature::structured)) out.add("structuredContent", Value::raw(text));
  return out.build();
}

Value error_result(const Error& error, json::Arena& arena) {
  const Value blocks[] = {json::make_object(arena, {{"type", "text"}, {"text", arena.copy(error_text(error))}})};
  return json::make_object(arena, {{"content", json::make_array(arena, blocks)}, {"isError", true}});
}

ToolOutcome data_from(Asked& asked, std::string_view operation, const Value& arguments) {
  auto answer = asked.call(operation, arguments);
  if (!answer.ok()) return std::move(answer).error();
  return data_result(asked, asked.arena.copy(*answer));
}

std::optional<std::string> Asked::session_of(const Value& arguments) const {
  if (const Value* const named = arguments.find("session"); named != nullptr && named->is_string()) return std::string(named->text());
  const auto& session = core.options().session;
  return session ? std::optional(session->str()) : std::nullopt;
}

Result<Value> Asked::with_session(const Value& arguments) {
  const auto session = session_of(arguments);
  if (!session) {
    const bool http = task.header != nullptr;
    const std::string how = http ? "name the session: the argument `session`"
                                 : "name the session: the argument `session`, or WEIR_SESSION where the server is started";
    return Error(ErrorCode::INVALID_FIELD, how).with_fields({{"/session", "is missing"}});
  }
  json::ObjectBuilder out(arena);
  out.add("session", arena.copy(*session));
  for (const json::Member& member : arguments.members()) out.add(member.key, member.value);
  const auto& head = core.options().head;
  if (head && arguments.find("head") == nullptr && arguments.find("at") == nullptr) out.add("head", arena.copy(head->str()));
  return out.build();
}

Result<std::string> Asked::call(std::string_view operation, const Value& arguments) {
  const api::Operation* const found = api::find_operation(operation);
  WEIR_CHECK(found != nullptr);
  TRY(const Value named, with_session(arguments));
  api::Call call(world, *found, task);
  call.may_write = task.may_write;
  if (found->files) call.within = client_roots(*this);
  TRY_DO(api::call(call, named));
  task.receipt = std::move(call.reply.receipt);
  return std::move(call.reply.text);
}

}  // namespace weir::mcp
