#include "context/render.h"

#include <algorithm>

namespace weir::context {

using json::Value;

Value Rendered::to_json(json::Arena& arena) const {
  json::ObjectBuilder out(arena);
  out.add("messages", json::make_array(arena, messages));
  if (system) out.add("system", *system);
  return out.build();
}

Rendered render(const std::vector<Message>& messages, const ContextConfig& config, json::Arena& arena) {
  switch (config.format) {
    case Format::anthropic:
      return render_anthropic(messages, config.cache_marks, arena);
    case Format::openai:
      return render_openai(messages, arena);
    case Format::plain:
      return render_plain(messages, arena);
  }
  WEIR_CHECK(false);
}

std::size_t reused_messages(const Rendered& before, const Rendered& now) {
  if (before.system != now.system) return 0;
  const auto end = std::mismatch(before.messages.begin(), before.messages.end(), now.messages.begin(), now.messages.end());
  return static_cast<std::size_t>(end.second - now.messages.begin());
}

}  // namespace weir::context
