#include "context/neutral.h"

#include <algorithm>

#include "base/function_ref.h"
#include "base/utf8.h"
#include "json/canonical.h"

namespace weir::context {
namespace {

using json::Arena;
using json::Member;
using json::Value;

constexpr std::string_view kToolUse = "tool_use", kToolResult = "tool_result";
constexpr std::string_view kPiCall = "toolCall";  // as pi records a call in the content

std::string_view type_of(const Value& block) { return block.text_or("type", ""); }

Value arguments_of(const Value& call, std::string_view key) {
  const Value* found = call.find(key);
  return found == nullptr ? Value() : *found;
}

// The calls of a message that recorders put beside the content and into it are the same calls: what stands beside is taken, and
// a block is a call of its own only where it repeats none of those. Pi's blocks repeat what its importer put beside; their ids
// are as recorded where the others may be aliases, so that name and arguments tell.
class Calls {
 public:
  explicit Calls(const Value& payload) {
    if (const Value* calls = payload.find("tool_calls")) {
      for (const Value& call : calls->items()) {
        const Value* function = call.find("function");
        const Value& named = function != nullptr && function->is_object() ? *function : call;
        out.push_back({call.text_or("id", ""), named.text_or("name", ""), arguments_of(named, "arguments")});
      }
    }
    beside_ = out.size();
    told_.resize(beside_);
  }

  // Is this block told by the calls? What repeats none of them and is a call that every provider knows becomes one.
  bool take(const Value& block) {
    const bool pi = type_of(block) == kPiCall;
    if (!pi && type_of(block) != kToolUse) return false;
    const Call call{block.text_or("id", ""), block.text_or("name", ""), arguments_of(block, pi ? "arguments" : "input")};
    for (std::size_t i = 0; i < beside_; ++i) {
      if (told_[i] || (pi || call.id.empty() ? !same_act(out[i], call) : out[i].id != call.id)) continue;
      told_[i] = true;
      return true;
    }
    if (!pi) out.push_back(call);
    return !pi;
  }

  std::vector<Call> out;

 private:
  static bool same_act(const Call& a, const Call& b) { return a.name == b.name && a.arguments == b.arguments; }

  std::size_t beside_ = 0;
  std::vector<bool> told_;  // of those beside: a block repeated it
};

// Without results, and without the blocks that are told otherwise.
std::vector<Value> blocks_but(const Value& content, FunctionRef<bool(const Value&)> told) {
  std::vector<Value> out;
  const auto add_text = [&](const Value& text) {
    if (!is_blank(text.text())) out.push_back(text);
  };
  if (content.is_string()) {
    add_text(content);
  } else if (!content.is_array()) {
    if (!content.is_null()) out.push_back(content);
  } else {
    for (const Value& block : content.items()) {
      const Value* text = type_of(block) == "text" ? block.find("text") : nullptr;
      if (block.is_string()) {
        add_text(block);
      } else if (text != nullptr && text->is_string()) {
        add_text(*text);
      } else if (type_of(block) != kToolResult && !told(block)) {
        out.push_back(block);
      }
    }
  }
  return out;
}

}  // namespace

bool is_blank(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto c = decode_utf8(text, at);
    if (!c || !is_space(*c)) return false;
  }
  return true;
}

Value with_member(const Value& object, std::string_view key, const Value& value, Arena& arena) {
  json::ObjectBuilder out(arena);
  out.add(key, value);  // of two with one key the first stays
  for (const Member& member : object.members()) out.add(member.key, member.value);
  return out.build();
}

Value without_member(const Value& object, std::string_view key, Arena& arena) {
  json::ObjectBuilder out(arena);
  for (const Member& member : object.members()) {
    if (member.key != key) out.add(member.key, member.value);
  }
  return out.build();
}

Value without_blocks(const Value& content, std::string_view type, Arena& arena) {
  std::vector<Value> out;
  for (const Value& block : content.items()) {
    if (type_of(block) != type) out.push_back(block);
  }
  return json::make_array(arena, out);
}

Value copied(const Value& value, Arena& arena) {
  switch (value.kind()) {
    case json::Kind::string:
      return Value(arena.copy(value.text()));
    case json::Kind::big_integer:
      return Value::big_integer(arena.copy(value.text()));
    case json::Kind::raw:
      return Value::raw(arena.copy(value.text()));
    case json::Kind::array: {
      const auto from = value.items();
      Value* items = arena.make<Value>(from.size());
      for (std::size_t i = 0; i < from.size(); ++i) items[i] = copied(from[i], arena);
      return Value::array({items, from.size()});
    }
    case json::Kind::object: {
      const auto from = value.members();
      Member* members = arena.make<Member>(from.size());
      for (std::size_t i = 0; i < from.size(); ++i) members[i] = {arena.copy(from[i].key), copied(from[i].value, arena)};
      return Value::object({members, from.size()});
    }
    default:
      return value;
  }
}

std::vector<Value> blocks_of(const Value& content) {
  return blocks_but(content, [](const Value& block) { return type_of(block) == kToolUse; });
}

std::string text_of(const std::vector<Value>& blocks) {
  std::string out;
  for (const Value& block : blocks) {
    if (!out.empty()) out += '\n';
    if (block.is_string()) {
      out += block.text();
    } else {
      json::write_canonical(block, out);
    }
  }
  return out;
}

Message make_message(const Value& payload, Arena& arena) {
  Message out;
  const auto role = parse_role(payload.text_or("role", ""));
  out.role = role.value_or(Role::user);
  out.neutral = role ? payload : with_member(payload, "role", role_name(Role::user), arena);
  Calls calls(payload);
  if (const Value* content = payload.find("content"))
    out.blocks = blocks_but(*content, [&](const Value& block) { return calls.take(block); });
  out.calls = std::move(calls.out);
  out.answers = payload.text_or("tool_call_id", "");
  const Value* error = payload.find("is_error");
  out.is_error = error != nullptr && error->is_boolean() && error->boolean();
  return out;
}

Message make_line(std::string_view text, Arena& arena) {
  return make_message(json::make_object(arena, {{"content", arena.copy(text)}, {"role", role_name(Role::user)}}), arena);
}

void add_message(Message message, std::vector<Message>& out, Arena& arena) {
  if (message.calls.empty() || message.role == Role::assistant) {
    out.push_back(std::move(message));
    return;
  }
  Message made = message;
  std::vector<Value> calls;
  for (const Call& call : message.calls) {
    calls.push_back(json::make_object(arena, {{"arguments", call.arguments}, {"id", call.id}, {"name", call.name}}));
  }
  made.role = Role::assistant;
  made.blocks.clear();
  made.answers = {};
  made.is_error = false;
  made.neutral = json::make_object(arena, {{"role", role_name(Role::assistant)}, {"tool_calls", json::make_array(arena, calls)}});
  message.calls.clear();
  message.neutral = without_member(message.neutral, "tool_calls", arena);
  if (const Value* content = message.neutral.find("content"); content != nullptr && content->is_array()) {
    message.neutral = with_member(message.neutral, "content", without_blocks(*content, kToolUse, arena), arena);
  }
  out.push_back(std::move(message));
  out.push_back(std::move(made));
}

}  // namespace weir::context
