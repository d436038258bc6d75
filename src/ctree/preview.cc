#include "ctree/preview.h"

#include <string>

#include "base/secrets.h"
#include "base/utf8.h"
#include "ctree/kind.h"
#include "ctree/values.h"
#include "session/types.h"

namespace weir::ctree {
namespace {

using json::Value;

// The beginning of a blob as far as it is whole: what stands at its cut end may be half a secret, which no pattern knows.
std::string_view blob_beginning(const Value& blob) {
  const std::string_view text = blob.text_or("preview", "");
  const std::size_t space = text.find_last_of(" \t\r\n");
  return text.substr(0, space == std::string_view::npos ? 0 : space);
}

// The text blocks, one below the other. What is a blob is not all there.
std::string joined_text(const Value& blocks, bool& cut) {
  std::string out;
  bool first = true;
  for (const Value& block : blocks.items()) {
    if (block.text_or("type", "") != "text") continue;
    if (!first) out += '\n';
    first = false;
    const Value* text = block.find("text");
    const bool blob = text != nullptr && is_blob(*text);
    cut |= blob;
    out += blob ? blob_beginning(*text) : block.text_or("text", "");
  }
  return out;
}

// One kind of line end, and nothing a terminal obeys.
std::string plain_text(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto c = decode_utf8(text, at);
    if (c == U'\r') {
      if (at < text.size() && text[at] == '\n') ++at;
      out += '\n';
    } else if (!c || (weir::is_control(*c) && *c != U'\n' && *c != U'\t' && *c != 0x7F)) {
      append_utf8(out, 0xFFFD);
    } else {
      append_utf8(out, *c);
    }
  }
  return out;
}

}  // namespace

const Value* stored_content(const Entry& entry, const Value& body) {
  if (entry.type == types::kMessage) return present(body, "content");
  if (entry.type == types::kContextEdit) return present(body, "replacement");
  if (entry.type == types::kBranchSummary) return present(body, "summary");
  if (entry.type == types::kSnapshotAttached) return present(body, "narrative");
  if (entry.type == types::kCompaction) {
    for (const std::string_view key : {"narrative", "replacement", "summary"}) {
      if (const Value* found = present(body, key)) return found;
    }
  }
  if (entry.type != types::kCtreeNode || body.text_or("kind", "") != kMessage) return nullptr;
  const Value* payload = body.find("payload");
  if (payload == nullptr) return nullptr;
  const Value* content = present(*payload, "content");
  return content != nullptr ? content : present(*payload, "text");
}

std::optional<Preview> make_preview(const Value& content, std::size_t most_code_points, const Sanitiser& sanitiser) {
  std::string text;
  bool cut = is_blob(content);
  if (content.is_string()) {
    text = content.text();
  } else if (content.is_array()) {
    text = joined_text(content, cut);
  } else if (cut) {
    text = blob_beginning(content);
  } else {
    return std::nullopt;
  }
  // Once more after the controls are out: they may have kept a secret's parts apart.
  const std::string masked = sanitiser.masked_text(plain_text(sanitiser.masked_text(text)));
  Preview out;
  out.text = utf8_prefix(masked, most_code_points);
  out.redacted = masked.find(kRedacted) != std::string::npos;
  out.truncated = cut || out.text.size() < masked.size();
  return out;
}

}  // namespace weir::ctree
