#include "session/prepare.h"

#include <algorithm>

#include "base/limits.h"
#include "base/utf8.h"
#include "json/canonical.h"
#include "json/mask.h"
#include "json/parse.h"
#include "session/message_text.h"
#include "session/types.h"
#include "store/blob_refs.h"

namespace weir {

using json::Arena;
using json::Member;
using json::Value;

Result<PreparedBody> Preparer::prepare(std::string_view type, const Value& body, Arena& arena) {
  MaskCounts found;
  Value masked = json::mask(body, masker_, arena, found);
  for (const auto& [family, count] : found) masked_[family] += count;
  has_blobs_ = false;
  if (type == types::kCompaction) {
    TRY(masked, shorten_replacement(masked, arena));
  } else if (type == types::kMessage && !found.empty()) {
    masked = say_text_masked(body, masked, arena);
  }
  TRY(const Value stored, take_out(masked, arena));
  PreparedBody out{json::canonical(stored), BodyHash(""), has_blobs_, std::move(found)};
  if (out.canonical.size() > limits::kEntryBodyBytes) {
    return over_limit("bytes of an entry's body, once its large strings are blobs", limits::kEntryBodyBytes, out.canonical.size());
  }
  out.hash = BodyHash(out.canonical);
  return out;
}

// Whoever reads the record later has only the masked text: so it is told now that the text which arrived was the record's.
Value Preparer::say_text_masked(const Value& arrived, const Value& masked, Arena& arena) {
  const Value* const read = arrived.find("read");
  const Value* const text = arrived.find("content");
  if (read == nullptr || text == nullptr) return masked;
  const auto hash = content_sha256(*text);
  if (!hash || *hash != read->text_or("text_sha256", "") || content_sha256(*masked.find("content")) == hash) return masked;
  json::ObjectBuilder builder(arena);
  for (const Member& member : masked.members()) {
    if (member.key != "text_masked") builder.add(member.key, member.value);
  }
  return builder.add("text_masked", true).build();
}

Result<Value> Preparer::to_blob(std::string_view bytes, Arena& arena, Member extra) {
  Digest digest;
  if (blobs_ != nullptr) {
    TRY(digest, blobs_->put(bytes));
  } else {
    digest = sha256(bytes);
  }
  has_blobs_ = true;
  return json::make_object(arena, {{"$blob", arena.copy("sha256:" + digest.hex())}, {"bytes", bytes.size()}, extra});
}

// Strings over the limit leave the value; what has none is returned as it is.
Result<Value> Preparer::take_out(const Value& value, Arena& arena) {
  switch (value.kind()) {
    case json::Kind::string:
      if (value.text().size() <= limits::kBlobStringBytes) return value;
      return to_blob(value.text(), arena, {"preview", utf8_prefix(value.text(), limits::kBlobPreviewCodePoints)});
    case json::Kind::array: {
      const auto from = value.items();
      Value* items = nullptr;
      for (std::size_t i = 0; i < from.size(); ++i) {
        TRY(const Value item, take_out(from[i], arena));
        if (items == nullptr && item.kind() == from[i].kind() && item == from[i]) continue;
        if (items == nullptr) {
          items = arena.make<Value>(from.size());
          std::copy(from.begin(), from.end(), items);
        }
        items[i] = item;
      }
      return items == nullptr ? value : Value::array({items, from.size()});
    }
    case json::Kind::object: {
      TRY(const auto reference, blob_reference(value));
      if (reference) {
        has_blobs_ = true;
        if (blobs_ != nullptr) {
          TRY(const bool there, blobs_->has(*reference));
          if (!there)
            return Error(ErrorCode::NOT_FOUND, "no blob sha256:" + reference->hex() + " is stored")
                .with("object", "sha256:" + reference->hex());
        }
        for (const Member& member : value.members()) {
          if (member.value.is_string() && member.value.text().size() > limits::kBlobStringBytes) {
            return over_limit("bytes of a string beside $blob", limits::kBlobStringBytes, member.value.text().size());
          }
        }
        return value;
      }
      const auto from = value.members();
      Member* members = nullptr;
      for (std::size_t i = 0; i < from.size(); ++i) {
        TRY(const Value item, take_out(from[i].value, arena));
        if (members == nullptr && item.kind() == from[i].value.kind() && item == from[i].value) continue;
        if (members == nullptr) {
          members = arena.make<Member>(from.size());
          std::copy(from.begin(), from.end(), members);
        }
        members[i].value = item;
      }
      return members == nullptr ? value : Value::object({members, from.size()});
    }
    default:
      return value;
  }
}

Result<Value> Preparer::shorten_replacement(const Value& body, Arena& arena) {
  const Value* replacement = body.find("replacement");
  if (replacement == nullptr || !replacement->is_array()) return body;
  if (json::canonical(*replacement).size() <= limits::kReplacementBytes) return body;
  // Whole, with what it names: nobody looks into a blob for the names of others, so it must hold none.
  Value whole = *replacement;
  if (blobs_ != nullptr) {
    TRY(whole, resolve_blobs(*replacement, *blobs_, arena));
  }
  const std::string text = json::canonical(whole);
  TRY(const Value blob, to_blob(text, arena, {"count", replacement->items().size()}));
  json::ObjectBuilder builder(arena);
  for (const Member& member : body.members()) builder.add(member.key, member.key == "replacement" ? blob : member.value);
  return builder.build();
}

Result<Value> resolve_blobs(const Value& value, Blobs& blobs, Arena& arena) {
  return resolve_blobs(value, [&](const Digest& digest) { return blobs.get(digest); }, arena);
}

Result<Value> resolve_blobs(const Value& value, FunctionRef<Result<std::string>(const Digest&)> load, Arena& arena) {
  if (value.is_array()) {
    std::vector<Value> items;
    for (const Value& item : value.items()) {
      TRY(const Value resolved, resolve_blobs(item, load, arena));
      items.push_back(resolved);
    }
    return json::make_array(arena, items);
  }
  if (!value.is_object()) return value;
  TRY(const auto reference, blob_reference(value));
  if (reference) {
    TRY(const std::string bytes, load(*reference));
    // A list of messages, or a snapshot: values. Anything else is a text.
    if (value.find("count") == nullptr && value.find("snapshot_id") == nullptr) return Value(arena.copy(bytes));
    bool repaired = false;
    const auto list = json::parse_exact(arena.copy(bytes), arena, json::Parser::kStored, repaired);
    // A caller may have put a count beside the name of a text.
    if (!list.ok()) return Value(arena.copy(bytes));
    return resolve_blobs(*list, load, arena);
  }
  json::ObjectBuilder builder(arena);
  for (const Member& member : value.members()) {
    TRY(const Value resolved, resolve_blobs(member.value, load, arena));
    builder.add(member.key, resolved);
  }
  return builder.build();
}

}  // namespace weir
