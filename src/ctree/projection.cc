#include "ctree/projection.h"

#include <algorithm>
#include <string>

#include "ctree/sanitise.h"
#include "ctree/values.h"
#include "session/bodies.h"

namespace weir::ctree {
namespace {

using json::Arena;
using json::Member;
using json::Value;

// The object with this member's text aliased; itself if the member is no text.
Value aliased(const Value& object, std::string_view key, Alias alias, Arena& arena, std::vector<std::string_view>& ids) {
  const Value* id = object.find(key);
  if (id == nullptr || !id->is_string()) return object;
  ids.push_back(id->text());
  const auto from = object.members();
  Member* members = arena.make<Member>(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) members[i] = from[i].key == key ? Member{key, alias(id->text())} : from[i];
  return Value::object({members, from.size()});
}

Value project_blocks(const Value& content, Alias alias, Arena& arena, ProjectedMessage& out);

Value project_block(const Value& block, Alias alias, Arena& arena, ProjectedMessage& out) {
  const Value plain = Sanitiser::without_marks(block, arena);
  const std::string_view type = plain.text_or("type", "");
  if (type == "tool_use") return aliased(plain, "id", alias, arena, out.calls);
  if (type != "tool_result") return plain;
  const Value result = aliased(plain, "tool_use_id", alias, arena, out.results);
  const Value* inner = result.find("content");
  if (inner == nullptr || !inner->is_array()) return result;
  json::ObjectBuilder built(arena);
  for (const Member& member : result.members()) {
    built.add(member.key, member.key == "content" ? project_blocks(*inner, alias, arena, out) : member.value);
  }
  return built.build();
}

Value project_blocks(const Value& content, Alias alias, Arena& arena, ProjectedMessage& out) {
  const auto from = content.items();
  Value* items = arena.make<Value>(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) items[i] = project_block(from[i], alias, arena, out);
  return Value::array({items, from.size()});
}

Value project_calls(const Value& calls, Alias alias, Arena& arena, ProjectedMessage& out) {
  const auto from = calls.items();
  Value* items = arena.make<Value>(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) items[i] = aliased(from[i], "id", alias, arena, out.calls);
  return Value::array({items, from.size()});
}

bool is_result_block(const Value& block) { return block.text_or("type", "") == "tool_result"; }

bool same_ignoring_case(std::string_view a, std::string_view lower) {
  return a.size() == lower.size() && std::equal(a.begin(), a.end(), lower.begin(), [](char x, char y) { return (x | 0x20) == y; });
}

std::string_view task_alias(std::string_view padded, Alias alias) {
  const std::string_view id = trimmed(padded);
  if (id.empty()) return padded;
  return same_ignoring_case(id, "root") ? "root" : alias(id);
}

std::string_view path_alias(std::string_view path, Alias alias, Arena& arena) {
  std::string out;
  for (std::size_t at = 0;;) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    out += task_alias(path.substr(at, end - at), alias);
    if (end == path.size()) return arena.copy(out);
    out += '/';
    at = end + 1;
  }
}

}  // namespace

ProjectedMessage project_message(const Value& body, bool text_fallback, Alias alias, Arena& arena) {
  ProjectedMessage out;
  json::ObjectBuilder payload(arena);
  const std::string_view role = body.text_or("role", "");
  // Ids are met in this order, which is the one their aliases count in.
  if (const Value* calls = present(body, "tool_calls"); calls != nullptr && !(calls->is_array() && calls->items().empty()))
    payload.add("tool_calls", calls->is_array() ? project_calls(*calls, alias, arena, out) : *calls);
  if (const Value* id = present(body, "tool_call_id"); id != nullptr) {
    if (id->is_string()) out.results.push_back(id->text());
    payload.add("tool_call_id", id->is_string() ? Value(alias(id->text())) : *id);
  }
  const Value* content = present(body, "content");
  if (content == nullptr && text_fallback) content = present(body, "text");
  if (content != nullptr) payload.add("content", content->is_array() ? project_blocks(*content, alias, arena, out) : *content);
  payload.add_if("role", present(body, "role")).add_if("name", present(body, "name"));
  if (const Value* error = present(body, "is_error"); error != nullptr && !(error->is_boolean() && !error->boolean()))
    payload.add("is_error", *error);
  out.payload = payload.build();
  const bool blocks = content != nullptr && content->is_array() && !content->items().empty();
  out.only_results = role == role_name(Role::tool) || (role == role_name(Role::user) && blocks &&
                                                       std::all_of(content->items().begin(), content->items().end(), is_result_block));
  return out;
}

Value project_task(const Value& payload, Alias alias, Arena& arena) {
  if (!payload.is_object()) return payload;
  json::ObjectBuilder out(arena);
  std::string_view raw, named;
  for (const std::string_view key : {"task_id", "parent_task_id"}) {
    const Value* id = present(payload, key);
    if (id == nullptr) continue;
    const Value shown = id->is_string() ? Value(task_alias(id->text(), alias)) : *id;
    out.add(key, shown);
    if (key == "task_id" && id->is_string()) raw = trimmed(id->text()), named = shown.text();
  }
  if (const Value* path = present(payload, "tree_path")) {
    out.add("tree_path", path->is_string() ? Value(path_alias(path->text(), alias, arena)) : *path);
  }
  for (const std::string_view key : {"kind", "depth", "priority", "subagent_type", "status"}) out.add_if(key, present(payload, key));
  // A path that does not name the task would tie the digest to a machine.
  if (const Value* path = payload.find("artifact_path"); path != nullptr && path->is_string() && !raw.empty()) {
    std::string text(path->text());
    bool found = false;
    for (std::size_t at = 0; (at = text.find(raw, at)) != std::string::npos; at += named.size(), found = true)
      text.replace(at, raw.size(), named);
    if (found) out.add("artifact_path", arena.copy(text));
  }
  return out.build();
}

}  // namespace weir::ctree
