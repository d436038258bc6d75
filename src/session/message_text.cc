#include "session/message_text.h"

#include <vector>

#include "base/sha256.h"

namespace weir {

using json::Value;

std::optional<std::string> content_sha256(const Value& content) {
  const auto hash_of = [](const Value& text) -> std::optional<std::string> {
    if (text.is_string()) return sha256(text.text()).hex();
    const std::string_view blob = text.text_or("$blob", "");
    if (!blob.starts_with("sha256:")) return std::nullopt;
    return std::string(blob.substr(7));
  };
  if (!content.is_array()) return hash_of(content);
  std::vector<const Value*> texts;
  for (const Value& block : content.items()) {
    if (block.text_or("type", "") == "text" && block.find("text") != nullptr) texts.push_back(block.find("text"));
  }
  if (texts.size() == 1) return hash_of(*texts[0]);
  Sha256 joined;
  for (const Value* text : texts) {
    if (!text->is_string()) return std::nullopt;
    joined.update(text->text());
  }
  return joined.finish().hex();
}

}  // namespace weir
