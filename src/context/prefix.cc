#include "context/prefix.h"

#include <algorithm>

#include "json/canonical.h"

namespace weir::context {
namespace {

std::vector<json::Value> of_section(const std::vector<Message>& messages, Section section) {
  std::vector<json::Value> out;
  for (const Message& message : messages) {
    if (message.section == section) out.push_back(message.neutral);
  }
  return out;
}

}  // namespace

ContextHashes hash_messages(const std::vector<Message>& messages, std::string_view tools, const json::Hasher& hasher) {
  ContextHashes out;
  Sha256 prefix = hasher.begin(json::Domain::prefix), context = hasher.begin(json::Domain::context);
  constexpr std::string_view kHead = "{\"messages\":[", kMiddle = "],\"tools\":", kEnd = "}";
  const auto both = [&](std::string_view text) {
    prefix.update(text);
    context.update(text);
  };
  both(kHead);
  out.prefix_length = kHead.size() + kMiddle.size() + tools.size() + kEnd.size();
  std::string text;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    text.clear();
    if (i > 0) text += ',';
    json::write_canonical(messages[i].neutral, text);
    context.update(text);
    if (messages[i].section > Section::snapshot) continue;
    prefix.update(text);
    out.prefix_length += text.size();
  }
  both(kMiddle);
  both(tools);
  both(kEnd);
  out.prefix = hasher.finish(prefix);
  out.context = hasher.finish(context);
  return out;
}

void PrefixMark::add(std::string_view included_reason, std::string_view item_id) {
  if (included_reason == "pin:checkpoint") checkpoint = item_id;
  for (const std::string_view pin : {"pin:first_system", "pin:latest_system", "pin:label", "pin:id"}) {
    if (included_reason == pin) pins.emplace_back(item_id);
  }
}

std::string_view prefix_changed(const PrefixMark& before, const PrefixMark& now) {
  if (before.checkpoint != now.checkpoint) return "compaction";
  return before.pins != now.pins ? "pins" : "tools";
}

std::string_view prefix_changed(const std::vector<Message>* previous, std::string_view previous_hash, const std::vector<Message>& now,
                                const Digest& hash) {
  if (previous == nullptr) return "first";
  if (previous_hash == hash.hex()) return "";
  if (of_section(*previous, Section::snapshot) != of_section(now, Section::snapshot)) return "compaction";
  if (of_section(*previous, Section::policy) != of_section(now, Section::policy)) return "pins";
  return "tools";
}

}  // namespace weir::context
