#include "ctree/sanitise.h"

#include <algorithm>
#include <span>

#include "json/mask.h"

namespace weir::ctree {
namespace {

using json::Arena;
using json::Member;
using json::Value;

constexpr std::string_view kVolatile[] = {"seq", "timestamp", "timestamp_ms", "ts", "mono_ns", "created_at", "updated_at", "event_id"};
constexpr std::string_view kMarks[] = {"signature", "thoughtSignature", "textSignature", "encrypted_content", "cache_control"};

template <typename Drop>
Value without(const Value& object, Arena& arena, Drop&& drop) {
  const auto members = object.members();
  if (std::none_of(members.begin(), members.end(), [&](const Member& member) { return drop(member.key); })) return object;
  json::ObjectBuilder out(arena);
  for (const Member& member : members) {
    if (!drop(member.key)) out.add(member.key, member.value);
  }
  return out.build();
}

// The value itself where it holds no blob.
Value without_previews(const Value& value, Arena& arena) {
  if (value.is_array()) {
    const auto from = value.items();
    Value* items = arena.make<Value>(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) items[i] = without_previews(from[i], arena);
    return Value::array({items, from.size()});
  }
  if (!value.is_object()) return value;
  if (is_blob(value)) return without(value, arena, [](std::string_view key) { return key == "preview"; });
  const auto from = value.members();
  Member* members = arena.make<Member>(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) members[i] = {from[i].key, without_previews(from[i].value, arena)};
  return Value::object({members, from.size()});
}

bool holds_blob(const Value& value) {
  if (value.is_array()) return std::any_of(value.items().begin(), value.items().end(), holds_blob);
  if (!value.is_object()) return false;
  return is_blob(value) || std::any_of(value.members().begin(), value.members().end(), [](const Member& m) { return holds_blob(m.value); });
}

Masker make_masker(const Sanitiser::Options& options) {
  if (options.secret_keys.empty()) return Masker::standard();
  auto masker = Masker::make({.secret_keys = options.secret_keys});
  WEIR_CHECK(masker.ok());
  return std::move(masker).value();
}

}  // namespace

bool is_blob(const Value& value) {
  const Value* name = value.find("$blob");
  return name != nullptr && name->is_string();
}

Sanitiser::Sanitiser(const Options& options) : volatile_keys_(options.volatile_keys), masker_(make_masker(options)) {}

Value Sanitiser::without_volatile(const Value& payload, Arena& arena) const {
  return without(payload, arena, [&](std::string_view key) {
    return std::find(std::begin(kVolatile), std::end(kVolatile), key) != std::end(kVolatile) ||
           std::find(volatile_keys_.begin(), volatile_keys_.end(), key) != volatile_keys_.end();
  });
}

Value Sanitiser::without_marks(const Value& block, Arena& arena) {
  return without(block, arena,
                 [](std::string_view key) { return std::find(std::begin(kMarks), std::end(kMarks), key) != std::end(kMarks); });
}

Value Sanitiser::masked(const Value& value, Arena& arena) const {
  MaskCounts counts;
  const Value out = json::mask(value, masker_, arena, counts);
  return holds_blob(out) ? without_previews(out, arena) : out;
}

std::string Sanitiser::masked_text(std::string_view text) const {
  MaskCounts counts;
  return masker_.mask(text, counts).value_or(std::string(text));
}

}  // namespace weir::ctree
