// Messages before they are any provider's: one JSON object each, which is what hashes cover, and the same taken apart for
// whoever renders it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "ctree/node.h"
#include "json/value.h"
#include "session/bodies.h"

namespace weir::context {

// Parts of a prompt, the most stable first.
enum class Section { policy, snapshot, kept, tail };
inline constexpr std::string_view kSectionNames[] = {"policy", "snapshot", "kept", "tail"};
constexpr std::string_view name(Section section) { return kSectionNames[static_cast<int>(section)]; }

inline constexpr std::string_view kNotShown = "[weir: earlier messages not shown]";
inline constexpr std::string_view kNoResult = "[weir: no result recorded]";

struct Call {
  std::string_view id, name;  // empty: none recorded
  json::Value arguments;      // as recorded: an object, or text that may be JSON
};

struct Message {
  Role role = Role::user;  // tool: a result
  Section section = Section::tail;
  ctree::Ordinal node = ctree::kNoNode;  // what it shows; kNoNode: nothing, a line of ours
  json::Value neutral;                   // `content, is_error, name, role, tool_call_id, tool_calls`, as far as they are there
  std::vector<json::Value> blocks;       // of the content: texts, none of them blank, and blocks of other types
  std::vector<Call> calls;               // only an assistant makes some
  std::string_view answers;              // of a result: the id of its call,
  std::size_t call = 0;                  // and once paired its place among those of the message it follows
  bool is_error = false, placeholder = false;
};

// A payload as one message. A role that is none of the four speaks as the user. `recorded`: the payload's `tool_calls` with the ids
// that blocks of its content have, where those of the payload are aliases.
Message make_message(const json::Value& payload, json::Arena& arena, const json::Value* recorded = nullptr);
// Role user, that text.
Message make_line(std::string_view text, json::Arena& arena);
// A message that is no assistant's cannot make calls: they follow it in a message of their own.
void add_message(Message message, std::vector<Message>& out, json::Arena& arena);

// The texts among the blocks, and others as JSON, a line feed between two.
std::string text_of(const std::vector<json::Value>& blocks);
// The blocks of a content: a string, an array, or something else, which is one block. Calls and results are left out.
std::vector<json::Value> blocks_of(const json::Value& content);
bool is_blank(std::string_view text);

// Arguments of a call as the object that providers ask for. Text that is no object is its only member.
json::Value input_of(const json::Value& arguments, json::Arena& arena);

// The object with this member, in the place of what it had.
json::Value with_member(const json::Value& object, std::string_view key, const json::Value& value, json::Arena& arena);
json::Value without_member(const json::Value& object, std::string_view key, json::Arena& arena);
json::Value without_blocks(const json::Value& content, std::string_view type, json::Arena& arena);
// A copy that needs nothing but the arena.
json::Value copied(const json::Value& value, json::Arena& arena);

}  // namespace weir::context
