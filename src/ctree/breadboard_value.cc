#include "ctree/breadboard_value.h"

#include <algorithm>
#include <numeric>

namespace weir::breadboard {
namespace {

// By key, of equal ones only the last. Bytes of WTF-8 compare as code points do, lone surrogates among them.
std::vector<Member> sorted(std::vector<Member> members) {
  const auto not_ascending = [](const Member& a, const Member& b) { return a.key >= b.key; };
  if (std::adjacent_find(members.begin(), members.end(), not_ascending) == members.end()) return members;
  std::vector<std::size_t> order(members.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const int keys = members[a].key.compare(members[b].key);
    return keys != 0 ? keys < 0 : a < b;
  });
  std::vector<Member> out;
  out.reserve(members.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool last_of_key = i + 1 == order.size() || members[order[i]].key != members[order[i + 1]].key;
    if (last_of_key) out.push_back(std::move(members[order[i]]));
  }
  return out;
}

}  // namespace

Value Value::array(std::vector<Value> items) {
  Value out;
  out.kind_ = Kind::array;
  out.data_ = std::make_shared<const std::vector<Value>>(std::move(items));
  return out;
}

Value Value::object(std::vector<Member> members) {
  Value out;
  out.kind_ = Kind::object;
  out.data_ = std::make_shared<const std::vector<Member>>(sorted(std::move(members)));
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
