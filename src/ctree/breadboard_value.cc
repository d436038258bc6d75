#include "ctree/breadboard_value.h"

#include <algorithm>

namespace weir::breadboard {

Value Value::array(std::vector<Value> items) {
  Value out;
  out.kind_ = Kind::array;
  out.data_ = std::make_shared<const std::vector<Value>>(std::move(items));
  return out;
}

Value Value::object(std::vector<Member> members) {
  // Bytes of WTF-8 compare as code points do, lone surrogates among them.
  std::stable_sort(members.begin(), members.end(), [](const Member& a, const Member& b) { return a.key < b.key; });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (i + 1 < members.size() && members[i].key == members[i + 1].key) continue;
    if (kept != i) members[kept] = std::move(members[i]);
    ++kept;
  }
  members.resize(kept);
  Value out;
  out.kind_ = Kind::object;
  out.data_ = std::make_shared<const std::vector<Member>>(std::move(members));
  return out;
}

std::span<const Value> Value::items() const {
  return is_array() ? std::span<const Value>(*std::get<Items>(data_)) : std::span<const Value>();
}

std::span<const Member> Value::members() const {
  return is_object() ? std::span<const Member>(*std::get<Members>(data_)) : std::span<const Member>();
}

const Value* Value::find(std::string_view key) const {
  const auto all = members();
  const auto at = std::lower_bound(all.begin(), all.end(), key, [](const Member& member, std::string_view k) { return member.key < k; });
  return at != all.end() && at->key == key ? &at->value : nullptr;
}

Value Value::get(std::string_view key) const {
  const Value* found = find(key);
  return found == nullptr ? Value() : *found;
}

Value with_member(const Value& object, std::string key, Value value) {
  std::vector<Member> members(object.members().begin(), object.members().end());
  members.push_back({std::move(key), std::move(value)});
  return Value::object(std::move(members));
}

Value without_member(const Value& object, std::string_view key) {
  std::vector<Member> members;
  for (const Member& member : object.members()) {
    if (member.key != key) members.push_back(member);
  }
  return Value::object(std::move(members));
}

}  // namespace weir::breadboard
