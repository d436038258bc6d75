#include "context/neutral.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/function_ref.h"
#include "base/utf8.h"
#include "json/canonical.h"
#include "json/parse.h"

namespace weir::context {
namespace {

using json::Arena;
using json::Member;
using json::Value;

constexpr std::string_view kToolUse = "tool_use", kToolResult = "tool_result";

// The blocks by which agents and providers record a call in the content, and the key of their arguments.
struct CallBlock {
  std::string_view type, arguments;
};
constexpr CallBlock kCallBlocks[] = {
    {kToolUse, "input"},           {"toolCall", "arguments"},    {"tool_call", "arguments"}, {"function_call", "arguments"},
    {"custom_tool_call", "input"}, {"server_tool_use", "input"}, {"mcp_tool_use", "input"}};

std::string_view type_of(const Value& block) { return block.text_or("type", ""); }

Call call_of(const Value& call, std::string_view arguments) {
  const Value* function = call.find("function");
  const Value& named = function != nullptr && function->is_object() ? *function : call;
  const Value* found = named.find(arguments);
  return {call.text_or("id", ""), named.text_or("name", ""), found == nullptr ? Value() : *found};
}

// The calls of a message that recorders put beside the content and into it are the same calls: what stands beside is taken, and
// a block is a call of its own only where it repeats none of those. Blocks of most types keep their ids as recorded where the
// calls beside have aliases, so both ids of a call are known here. Where an id is missing, name and arguments tell.
class Calls {
 public:
  Calls(const Value& payload, const Value* recorded, Arena& arena) : arena_(arena) {
    const Value* calls = payload.find("tool_calls");
    if (calls == nullptr) return;
    for (std::size_t i = 0; i < calls->items().size(); ++i) {
      if (!add(call_of(calls->items()[i], "arguments"))) continue;
      const bool known = recorded != nullptr && i < recorded->items().size();
      beside_.push_back({known ? recorded->items()[i].text_or("id", "") : std::string_view(), "", false});
    }
  }

  // Is this block told by the calls? What repeats none of them and is a call that every provider knows becomes one.
  bool take(const Value& block) {
    const auto kind =
        std::find_if(std::begin(kCallBlocks), std::end(kCallBlocks), [&](const CallBlock& each) { return each.type == type_of(block); });
    if (kind == std::end(kCallBlocks)) return false;
    const Call call = call_of(block, kind->arguments);
    std::string act;
    for (std::size_t i = 0; i < beside_.size(); ++i) {
      if (!repeats(block, call, act, i)) continue;
      beside_[i].told = true;
      return true;
    }
    if (kind->type == kToolUse) add(call);
    return kind->type == kToolUse;
  }

  std::vector<Call> out;

 private:
  struct Beside {
    std::string_view recorded_id;
    std::string act;  // once it was asked for
    bool told;        // a block repeated it
  };
  struct OneId {
    std::size_t first;           // of the calls with it
    std::set<std::string> acts;  // of all of them, once there are two
  };

  // One id for one act is one call, however often it is there; one id for two acts is a provider that numbers badly.
  bool add(const Call& call) {
    if (!call.id.empty()) {
      const auto [known, fresh] = ids_.try_emplace(call.id, OneId{out.size(), {}});
      auto& [first, acts] = known->second;
      if (!fresh && acts.empty()) acts.insert(act_of(out[first]));
      if (!fresh && !acts.insert(act_of(call)).second) return false;
    }
    out.push_back(call);
    return true;
  }

  bool repeats(const Value& block, const Call& call, std::string& act, std::size_t i) {
    Beside& beside = beside_[i];
    const std::string_view id = out[i].id, own = block.text_or("id", ""), of_call = block.text_or("call_id", "");
    const auto is_it = [&](std::string_view given) { return !given.empty() && (given == id || given == beside.recorded_id); };
    if (!id.empty() && !(own.empty() && of_call.empty())) return is_it(own) || is_it(of_call);
    if (beside.told) return false;
    if (act.empty()) act = act_of(call);
    if (beside.act.empty()) beside.act = act_of(out[i]);
    return act == beside.act;
  }

  // Name and arguments, which are an object in one place and its text in another.
  std::string act_of(const Call& call) const { return json::canonical(call.name) + json::canonical(input_of(call.arguments, arena_)); }

  Arena& arena_;
  std::vector<Beside> beside_;  // as many as stand first in `out`
  std::map<std::string_view, OneId> ids_;
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

// Of a result. A block in it that is a result itself only wraps what the tool said.
std::vector<Value> blocks_of_result(const Value& content) {
  const auto none = [](const Value&) { return false; };
  if (!content.is_array()) return blocks_but(content, none);
  std::vector<Value> out;
  for (const Value& block : content.items()) {
    const Value* inner = type_of(block) == kToolResult ? block.find("content") : nullptr;
    const std::vector<Value> more = inner != nullptr ? blocks_of_result(*inner) : blocks_but(Value::array({&block, 1}), none);
    out.insert(out.end(), more.begin(), more.end());
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

Value input_of(const Value& arguments, Arena& arena) {
  if (arguments.is_object()) return arguments;
  if (arguments.is_null()) return Value::object({});
  if (arguments.is_string()) {
    if (is_blank(arguments.text())) return Value::object({});
    thread_local json::Parser parser;
    const auto parsed = parser.parse(arguments.text());
    if (parsed.ok() && parsed->is_object()) return copied(*parsed, arena);
  }
  return json::make_object(arena, {{"arguments", arguments}});
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

Message make_message(const Value& payload, Arena& arena, const Value* recorded) {
  Message out;
  const auto role = parse_role(payload.text_or("role", ""));
  out.role = role.value_or(Role::user);
  out.neutral = role ? payload : with_member(payload, "role", role_name(Role::user), arena);
  out.answers = payload.text_or("tool_call_id", "");
  Calls calls(payload, recorded, arena);
  if (const Value* content = payload.find("content")) {
    const bool result = out.role == Role::tool && !out.answers.empty();
    out.blocks = result ? blocks_of_result(*content) : blocks_but(*content, [&](const Value& block) { return calls.take(block); });
  }
  out.calls = std::move(calls.out);
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
