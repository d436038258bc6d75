#include "base/utf8.h"
#include "context/render.h"
#include "context/steps.h"
#include "json/canonical.h"

namespace weir::context {
namespace {

using json::Arena;
using json::Value;

Value text_block(std::string_view text, Arena& arena) { return json::make_object(arena, {{"text", text}, {"type", "text"}}); }

Value json_block(const Value& block, Arena& arena) { return text_block(arena.copy(json::canonical(block)), arena); }

Value image_block(const Image& image, Arena& arena) {
  const Value source = image.url.empty()
                           ? json::make_object(arena, {{"type", "base64"}, {"media_type", image.media_type}, {"data", image.data}})
                           : json::make_object(arena, {{"type", "url"}, {"url", image.url}});
  return json::make_object(arena, {{"source", source}, {"type", "image"}});
}

bool is_thought(const Value& block) {
  const std::string_view type = block.text_or("type", "");
  return type == "thinking" || type == "redacted_thinking";
}

bool is_document(const Value& block) { return block.text_or("type", "") == "document" && block.find("source") != nullptr; }

// A block as one who speaks in this role may send it.
Value block_for(Role role, const Value& block, Arena& arena) {
  if (block.is_string()) return text_block(block.text(), arena);
  if (role == Role::system) return json_block(block, arena);  // which is text and nothing else
  if (role == Role::assistant) return is_thought(block) ? block : json_block(block, arena);
  if (const auto image = image_of(block)) return image_block(*image, arena);
  return is_document(block) ? block : json_block(block, arena);
}

class Rendering {
 public:
  Rendering(bool cache_marks, Arena& arena) : cache_marks_(cache_marks), arena_(arena) {}

  void add(const Step& step) {
    const Message& message = *step.message;
    if (message.role == Role::system && message.section == Section::policy) {
      for (const Value& block : message.blocks) system_.push_back(block_for(Role::system, block, arena_));
    } else if (message.role == Role::system) {
      const std::string text = text_of(message.blocks);
      if (!text.empty()) add(Role::user, text_block(arena_.copy("[weir: system message]\n" + text), arena_));
    } else {
      for (const Value& block : message.blocks) add(message.role, block_for(message.role, block, arena_));
    }
    for (const Answered& call : step.calls) {
      add(Role::assistant, json::make_object(arena_, {{"id", call.id}, {"input", call.input}, {"name", call.name}, {"type", "tool_use"}}));
    }
    for (const Answered& call : step.calls) add(Role::user, result_block(call));
    const Mark here{turns_.size(), turns_.empty() ? system_.size() : turns_.back().blocks.size()};
    if (message.section <= Section::snapshot) prefix_ = here;
    if (message.section <= Section::kept) kept_ = here;
  }

  Rendered finish() {
    trim_end();
    if (cache_marks_) {
      mark(prefix_);
      if (kept_.turns != prefix_.turns || kept_.blocks != prefix_.blocks) mark(kept_);
    }
    Rendered out;
    if (!system_.empty()) out.system = json::make_array(arena_, system_);
    for (const Turn& turn : turns_) {
      const Value content = json::make_array(arena_, turn.blocks);
      out.messages.push_back(json::make_object(arena_, {{"content", content}, {"role", role_name(turn.role)}}));
    }
    out.prefix_messages = prefix_.turns;
    out.kept_messages = kept_.turns;
    return out;
  }

 private:
  struct Turn {
    Role role;
    std::vector<Value> blocks;
  };
  // So many turns, of the last so many blocks; without turns, of what is before them.
  struct Mark {
    std::size_t turns = 0, blocks = 0;
  };

  void add(Role role, const Value& block) {
    if (turns_.empty() && role == Role::assistant) turns_.push_back({Role::user, {text_block(kNotShown, arena_)}});
    if (turns_.empty() || turns_.back().role != role) turns_.push_back({role, {}});
    turns_.back().blocks.push_back(block);
  }

  Value result_block(const Answered& call) {
    std::vector<Value> blocks;
    for (const Value& block : call.blocks) {
      const auto image = block.is_string() ? std::nullopt : image_of(block);
      blocks.push_back(image               ? image_block(*image, arena_)
                       : block.is_string() ? text_block(block.text(), arena_)
                                           : json_block(block, arena_));
    }
    const bool one_text = call.blocks.size() == 1 && call.blocks[0].is_string();
    // An error must say something.
    const Value nothing(call.is_error ? kNoResult : std::string_view(""));
    const Value content = blocks.empty() ? nothing : one_text ? call.blocks[0] : json::make_array(arena_, blocks);
    return json::make_object(arena_,
                             {{"content", content}, {"is_error", call.is_error}, {"tool_use_id", call.id}, {"type", "tool_result"}});
  }

  // An assistant's last word may not end in white space.
  void trim_end() {
    if (turns_.empty() || turns_.back().role != Role::assistant) return;
    Value& last = turns_.back().blocks.back();
    if (last.text_or("type", "") != "text") return;
    std::string_view text = last.text_or("text", "");
    while (!text.empty()) {
      std::size_t at = text.size() - 1;
      while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
      std::size_t next = at;
      const auto c = decode_utf8(text, next);
      if (!c || !is_space(*c)) break;
      text = text.substr(0, at);
    }
    last = text_block(text, arena_);
  }

  void mark(const Mark& at) {
    std::vector<Value>& blocks = at.turns == 0 ? system_ : turns_[at.turns - 1].blocks;
    if (at.blocks == 0 || is_thought(blocks[at.blocks - 1])) return;
    const Value kind = json::make_object(arena_, {{"type", "ephemeral"}});
    blocks[at.blocks - 1] = with_member(blocks[at.blocks - 1], "cache_control", kind, arena_);
  }

  const bool cache_marks_;
  Arena& arena_;
  std::vector<Value> system_;
  std::vector<Turn> turns_;
  Mark prefix_, kept_;
};

}  // namespace

Rendered render_anthropic(const std::vector<Message>& messages, bool cache_marks, Arena& arena) {
  Rendering rendering(cache_marks, arena);
  for (const Step& step : steps_of(messages, Format::anthropic, arena)) rendering.add(step);
  return rendering.finish();
}

}  // namespace weir::context
