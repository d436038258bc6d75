#include "context/loading.h"

#include "base/utf8.h"
#include "context/cut.h"
#include "context/neutral.h"
#include "json/canonical.h"
#include "json/parse.h"
#include "store/blob_refs.h"

namespace weir::context {

using json::Member;
using json::Value;

Result<std::string> Loading::bytes(const Value& blob, Digest& digest) {
  TRY(const auto reference, blob_reference(blob));
  if (!reference) return Error(ErrorCode::CORRUPT, "a blob without its name");
  digest = *reference;
  TRY(std::string out, source_.blob(digest));
  // A caller may have named a blob that is no text.
  if (!valid_utf8(out)) out = as_utf8(out);
  return out;
}

Result<Value> Loading::load(const Value& value) {
  if (value.is_array()) {
    const auto from = value.items();
    Value* items = arena_.make<Value>(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
      TRY(items[i], load(from[i]));
    }
    return Value::array({items, from.size()});
  }
  if (!value.is_object()) return value;
  if (ctree::is_blob(value)) {
    Digest digest;
    TRY(std::string text, bytes(value, digest));
    texts_.push_back(std::move(text));
    return masked(Value(texts_.back()));
  }
  const auto from = value.members();
  Member* members = arena_.make<Member>(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    members[i].key = from[i].key;
    TRY(members[i].value, load(from[i].value));
  }
  return Value::object({members, from.size()});
}

Result<CutContent> Loading::cut(const Value& content, std::uint64_t most_bytes) {
  std::string text;
  std::optional<Digest> blob;
  std::size_t parts = 0;
  const auto add = [&](const Value& part) -> Result<void> {
    if (parts++ > 0) text += '\n';
    Digest digest;
    if (ctree::is_blob(part)) {
      TRY(std::string loaded, bytes(part, digest));
      if (parts == 1) {
        text = std::move(loaded);
        blob = digest;
      } else {
        text += loaded;
      }
    } else if (part.is_string()) {
      text += part.text();
    } else {
      json::write_canonical(part, text);
    }
    return {};
  };
  if (content.is_array()) {
    for (const Value& block : content.items()) {
      const Value* inner = block.text_or("type", "") == "text" ? block.find("text") : nullptr;
      TRY_DO(add(inner == nullptr ? block : *inner));
    }
  } else if (!content.is_null()) {
    TRY_DO(add(content));
  }
  if (parts > 1) blob.reset();
  const Digest whole = blob ? *blob : sha256(text);
  json::Arena scratch;
  const Value shown = sanitiser_ == nullptr ? Value(text) : sanitiser_->masked(Value(text), scratch);
  const auto cut = cut_text(shown.text(), most_bytes, whole);
  if (cut) return CutContent{Value(arena_.copy(*cut)), true, blob};
  TRY(const Value loaded, load(content));
  return CutContent{loaded, false, std::nullopt};
}

Result<Value> Loading::load_list(const Value& blob) {
  Digest digest;
  TRY(const std::string text, bytes(blob, digest));
  json::Parser parser;
  const auto parsed = parser.parse_stored(text);
  if (!parsed.ok()) return Error(ErrorCode::CORRUPT, "the blob " + digest.hex() + " is no list of messages: " + parsed.error().message());
  return copied(*parsed, arena_);
}

}  // namespace weir::context
