// Neutral messages as a provider takes them. Whatever was selected, the list obeys its provider's rules: a call is answered
// at once and once, nothing answers nothing, no text is blank, Anthropic's roles alternate and begin with the user.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "context/config.h"
#include "context/neutral.h"
#include "json/value.h"

namespace weir::context {

struct Rendered {
  std::optional<json::Value> system;  // anthropic: what is no message there
  std::vector<json::Value> messages;
  // So many messages hold what is in the prefix (policy and snapshot), and what is in it and in `kept`.
  std::size_t prefix_messages = 0, kept_messages = 0;

  // {"messages","system"?}
  json::Value to_json(json::Arena& arena) const;
};

// The values live as long as the messages and the arena.
Rendered render(const std::vector<Message>& messages, const ContextConfig& config, json::Arena& arena);
Rendered render_anthropic(const std::vector<Message>& messages, bool cache_marks, json::Arena& arena);
Rendered render_openai(const std::vector<Message>& messages, json::Arena& arena);
Rendered render_plain(const std::vector<Message>& messages, json::Arena& arena);

// Leading messages that are the same in both; none if what stands before them is not.
std::size_t reused_messages(const Rendered& before, const Rendered& now);

}  // namespace weir::context
