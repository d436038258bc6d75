#include "json/mask.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace weir::json {
namespace {

class MaskWalk {
 public:
  MaskWalk(const Masker& masker, Arena& arena, MaskCounts& counts) : masker_(masker), arena_(arena), counts_(counts) {}

  // True if `out` is another value than `in`.
  bool walk(const Value& in, Value& out) {
    switch (in.kind()) {
      case Kind::string:
        return text(in, out);
      case Kind::array:
        return array(in, out);
      case Kind::object:
        return object(in, out);
      default:
        out = in;
        return false;
    }
  }

 private:
  bool text(const Value& in, Value& out) {
    const auto masked = masker_.mask(in.text(), counts_);
    out = masked ? Value(arena_.copy(*masked)) : in;
    return masked.has_value();
  }

  bool array(const Value& in, Value& out) {
    Value* items = nullptr;
    const auto from = in.items();
    for (std::size_t i = 0; i < from.size(); ++i) {
      Value item;
      if (!walk(from[i], item) && items == nullptr) continue;
      if (items == nullptr) {
        items = arena_.make<Value>(from.size());
        std::copy(from.begin(), from.end(), items);
      }
      items[i] = item;
    }
    out = items == nullptr ? in : Value::array({items, from.size()});
    return items != nullptr;
  }

  bool object(const Value& in, Value& out) {
    Member* members = nullptr;
    bool keys_changed = false;
    const auto from = in.members();
    for (std::size_t i = 0; i < from.size(); ++i) {
      Member member = from[i];
      bool changed = false;
      if (masker_.secret_key(from[i].key) && secret_value(from[i].value)) {
        member.value = Value(kRedacted);
        ++counts_["secret_key"];
        changed = true;
      } else {
        changed = walk(from[i].value, member.value);
      }
      if (const auto key = masker_.mask(from[i].key, counts_)) {
        member.key = arena_.copy(*key);
        changed = keys_changed = true;
      }
      if (!changed && members == nullptr) continue;
      if (members == nullptr) {
        members = arena_.make<Member>(from.size());
        std::copy(from.begin(), from.end(), members);
      }
      members[i] = member;
    }
    if (keys_changed) resort({members, from.size()});
    out = members == nullptr ? in : Value::object({members, from.size()});
    return members != nullptr;
  }

  static bool secret_value(const Value& value) {
    return !value.is_null() && !value.is_boolean() && !(value.is_string() && value.text() == kRedacted);
  }

  // Masked keys may have become equal: the second gets ~2, and so on, in the order they had, past names that are taken.
  void resort(std::span<Member> members) {
    const auto less = [](const Member& a, const Member& b) { return compare_keys(a.key, b.key) < 0; };
    std::stable_sort(members.begin(), members.end(), less);
    std::set<std::string, std::less<>> taken;
    for (const Member& member : members) taken.emplace(member.key);
    for (std::size_t i = 1; i < members.size(); ++i) {
      std::size_t copies = 1;
      const std::string_view key = members[i - 1].key;
      for (; i < members.size() && members[i].key == key; ++i) {
        std::string next;
        do next = std::string(key) + "~" + std::to_string(++copies);
        while (!taken.insert(next).second);
        members[i].key = arena_.copy(next);
      }
    }
    std::stable_sort(members.begin(), members.end(), less);
  }

  const Masker& masker_;
  Arena& arena_;
  MaskCounts& counts_;
};

}  // namespace

Value mask(const Value& value, const Masker& masker, Arena& arena, MaskCounts& counts) {
  if (!masker.enabled()) return value;
  Value out;
  MaskWalk(masker, arena, counts).walk(value, out);
  return out;
}

}  // namespace weir::json
