#include "ctree/diff.h"

#include <algorithm>
#include <functional>
#include <map>

#include "base/utf8.h"
#include "ctree/values.h"
#include "json/canonical.h"
#include "json/decode.h"

namespace weir::ctree {
namespace {

using json::Arena;
using json::Domain;
using json::Value;

constexpr std::size_t kMostFields = 100;

using Report = std::function<void(const std::string&, const Value*, const Value*)>;

// Every place in which two values differ, at the depth where they do.
void compare(const Value* a, const Value* b, const std::string& path, const Report& report) {
  if (a != nullptr && b != nullptr && *a == *b) return;
  const bool objects = a != nullptr && b != nullptr && a->is_object() && b->is_object();
  const bool arrays = a != nullptr && b != nullptr && a->is_array() && b->is_array();
  if (objects) {
    for (const json::Member& member : a->members()) compare(&member.value, b->find(member.key), json::pointer(path, member.key), report);
    for (const json::Member& member : b->members()) {
      if (a->find(member.key) == nullptr) compare(nullptr, &member.value, json::pointer(path, member.key), report);
    }
  } else if (arrays) {
    const std::size_t count = std::max(a->items().size(), b->items().size());
    for (std::size_t i = 0; i < count; ++i) {
      const auto item = [&](const Value* list) { return i < list->items().size() ? &list->items()[i] : nullptr; };
      compare(item(a), item(b), path + "/" + std::to_string(i), report);
    }
  } else {
    report(path, a, b);
  }
}

std::size_t length_of(const Value& value) { return value.is_string() ? code_points(value.text()) : json::canonical(value).size(); }

}  // namespace

Divergence diverge(const PathOf& a, const PathOf& b) {
  Divergence out;
  const std::size_t shorter = std::min(a.state.size(), b.state.size());
  const auto same = [&](std::size_t count) {
    ++out.comparisons;
    return a.fold.node_hash(a.state, count) == b.fold.node_hash(b.state, count);
  };
  // The first `low` nodes are the same, of the first `high` + 1 somewhere one is not.
  std::size_t low = 0, high = shorter;
  while (low < high) {
    const std::size_t middle = low + (high - low + 1) / 2;
    if (same(middle)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  out.common = low;
  out.equal = low == a.state.size() && low == b.state.size();
  return out;
}

std::vector<std::string_view> causes(const PathOf& a, const PathOf& b, const Divergence& where) {
  std::vector<std::string_view> out;
  if (where.equal) return out;
  if (where.common >= a.state.size()) return {"missing_in_a"};
  if (where.common >= b.state.size()) return {"missing_in_b"};
  const Node& x = a.state.nodes[where.common];
  const Node& y = b.state.nodes[where.common];
  if (a.state.words.text(x.kind) != b.state.words.text(y.kind)) out.push_back("kind");
  if (x.turn != y.turn) out.push_back("turn");
  if (a.state.hashes[where.common].payload != b.state.hashes[where.common].payload) out.push_back("payload");
  return out;
}

Value field_differences(const Value& a, const Value& b, const json::Hasher& hasher, bool with_text, Arena& arena) {
  std::vector<Value> out;
  const auto side = [&](const Value* value) {
    json::ObjectBuilder shown(arena);
    if (value == nullptr) return shown.build();
    shown.add("hash", arena.copy(hasher.value(Domain::value, *value).hex())).add("len", length_of(*value));
    if (with_text && value->is_string()) shown.add("text", utf8_prefix(value->text(), 160));
    return shown.build();
  };
  compare(&a, &b, "", [&](const std::string& path, const Value* x, const Value* y) {
    if (out.size() < kMostFields) out.push_back(json::make_object(arena, {{"path", arena.copy(path)}, {"a", side(x)}, {"b", side(y)}}));
  });
  return json::make_array(arena, out);
}

Value value_differences(const Value& a, const Value& b, Arena& arena) {
  std::vector<Value> out;
  compare(&a, &b, "", [&](const std::string& path, const Value* x, const Value* y) {
    out.push_back(
        json::make_object(arena, {{"path", arena.copy(path)}, {"a", x == nullptr ? Value() : *x}, {"b", y == nullptr ? Value() : *y}}));
  });
  return json::make_array(arena, out);
}

Value selection_differences(const PathOf& a, const Selection& in_a, const PathOf& b, const Selection& in_b, Arena& arena) {
  std::map<std::string, Reason> kept_a, kept_b;
  for (const Ordinal i : in_a.kept) kept_a.emplace(a.state.id(i), in_a.reason(a.state, i));
  for (const Ordinal i : in_b.kept) kept_b.emplace(b.state.id(i), in_b.reason(b.state, i));
  std::vector<Value> only_a, only_b, changed;
  for (const auto& [id, reason] : kept_a) {
    const auto other = kept_b.find(id);
    if (other == kept_b.end()) {
      only_a.push_back(arena.copy(id));
    } else if (other->second != reason) {
      changed.push_back(json::make_object(arena, {{"id", arena.copy(id)}, {"a", name(reason)}, {"b", name(other->second)}}));
    }
  }
  for (const auto& [id, reason] : kept_b) {
    if (!kept_a.contains(id)) only_b.push_back(arena.copy(id));
  }
  return json::make_object(arena, {{"only_a", json::make_array(arena, only_a)},
                                   {"only_b", json::make_array(arena, only_b)},
                                   {"reason_changed", json::make_array(arena, changed)}});
}

}  // namespace weir::ctree
