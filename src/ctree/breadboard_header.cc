#include "ctree/breadboard_header.h"

#include <algorithm>

#include "base/utf8.h"
#include "ctree/breadboard_python.h"
#include "ctree/breadboard_select.h"
#include "ctree/breadboard_text.h"

namespace weir::breadboard {
namespace {

// `sk-` and at least 20 ASCII letters or digits.
bool has_key_like_word(std::string_view text) {
  const auto is_word = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  for (std::size_t at = text.find("sk-"); at != std::string_view::npos; at = text.find("sk-", at + 1)) {
    const std::string_view word = text.substr(at + 3, 20);
    if (word.size() == 20 && std::all_of(word.begin(), word.end(), is_word)) return true;
  }
  return false;
}

bool looks_secret(std::string_view text) {
  if (has_key_like_word(text)) return true;
  const std::string small = lower(text);
  return small.find("-----begin") != std::string::npos && small.find("private key") != std::string::npos;
}

std::string with_plain_line_ends(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    out += text[i] == '\r' ? '\n' : text[i];
  }
  return out;
}

void add_preview(std::string_view content, const Config& config, std::vector<Member>& item) {
  std::string text = with_plain_line_ends(content);
  const bool redacted = config.redact_secret_like && looks_secret(text);
  bool truncated = false;
  if (redacted) {
    text = "***REDACTED***";
  } else if (config.preview_chars > 0) {
    const std::size_t kept = first_code_points(text, static_cast<std::size_t>(config.preview_chars)).size();
    truncated = kept < text.size();
    text.resize(kept);
  }
  item.push_back({"content_preview", std::move(text)});
  item.push_back({"content_preview_truncated", truncated});
  item.push_back({"content_preview_redacted", redacted});
}

Result<Value> text_or_null(const Value& value, std::string_view what) {
  if (value.is_null()) return Value();
  TRY(std::string text, to_str(value, what));
  return Value(std::move(text));
}

}  // namespace

Result<Value> header_item(const Node& node, const Config& config) {
  const Value& payload = node.payload;
  const std::string payload_hash = sha1_of_canonical(payload);
  if (!payload.is_object()) return Value::object({{"node_id", node.id}, {"kind", node.kind}, {"payload_hash", payload_hash}});
  TRY(Value role, text_or_null(payload.get("role"), "a message's role"));
  TRY(Value name, text_or_null(payload.get("name"), "a message's name"));
  const Value content = message_content(payload), calls = payload.get("tool_calls");
  std::vector<Member> item{
      {"node_id", node.id},
      {"role", std::move(role)},
      {"name", std::move(name)},
      {"payload_hash", payload_hash},
      {"content_hash", content.is_null() ? payload_hash : sha1_of_canonical(content)},
      {"content_len", content.is_string() ? Value(code_points(content.text())) : Value()},
      {"tool_call_count", calls.is_array() ? Value(calls.items().size()) : Value()},
  };
  if (!calls.is_null()) item.push_back({"tool_calls_hash", sha1_of_canonical(calls)});
  if (config.previews && content.is_string()) add_preview(content.text(), config, item);
  return Value::object(std::move(item));
}

}  // namespace weir::breadboard
