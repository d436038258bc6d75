#include "ctree/breadboard_select.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/utf8.h"
#include "ctree/breadboard_python.h"
#include "ctree/kind.h"

namespace weir::breadboard {
namespace {

// The role without white space around it; empty for what cannot be a role that is looked for.
std::string_view role_of(const Node& node, Value& role) {
  role = node.payload.get("role");
  return role.is_string() ? strip(role.text()) : std::string_view();
}

std::optional<std::size_t> first_system_message(const Store& store) {
  Value role;
  for (const Node& node : store.nodes()) {
    if (node.kind == ctree::kMessage && role_of(node, role) == "system") return node.first;
  }
  return std::nullopt;
}

bool contains(const Ordinals& ordinals, std::size_t ordinal) {
  return std::find(ordinals.begin(), ordinals.end(), ordinal) != ordinals.end();
}

// Turns count in the order they are first seen, not by number: a fault of BreadBoard's that its hashes rest on.
void keep_last_turns(const Store& store, std::int64_t count, Ordinals& nodes) {
  const auto less = [](const Value& a, const Value& b) { return compare_ints(a, b) < 0; };
  std::map<Value, std::size_t, decltype(less)> place(less);
  for (const std::size_t ordinal : nodes) {
    if (is_int(store[ordinal].turn)) place.emplace(store[ordinal].turn, place.size());
  }
  if (place.empty()) return;
  const std::size_t kept = static_cast<std::size_t>(std::min<std::int64_t>(count, static_cast<std::int64_t>(place.size())));
  const std::size_t from = place.size() - kept;
  std::erase_if(nodes, [&](std::size_t ordinal) {
    const Value& turn = store[ordinal].turn;
    return !turn.is_null() && !(is_int(turn) && place.at(turn) >= from);
  });
}

std::int64_t message_chars(const Node& node) {
  const Value content = message_content(node.payload);
  return content.is_string() ? static_cast<std::int64_t>(code_points(content.text())) : 0;
}

void keep_within_chars(const Store& store, std::int64_t budget, const std::vector<bool>& pinned, Ordinals& nodes) {
  Ordinals kept;
  for (auto at = nodes.rbegin(); at != nodes.rend(); ++at) {
    const Node& node = store[*at];
    if (node.kind == ctree::kMessage) {
      const std::int64_t chars = message_chars(node);
      if (!pinned[node.first] && !kept.empty() && chars > budget) continue;
      budget = std::max<std::int64_t>(0, budget - chars);
    }
    kept.push_back(*at);
  }
  nodes.assign(kept.rbegin(), kept.rend());
}

Ordinals pins(const Store& store, const Config& config) {
  Ordinals out;
  if (std::find(config.kinds.begin(), config.kinds.end(), ctree::kMessage) == config.kinds.end()) return out;
  if (config.pin_latest) out = latest_messages(store);
  const auto system = config.pin_first_system ? first_system_message(store) : std::nullopt;
  if (system && !contains(out, *system)) out.push_back(*system);
  return out;
}

// Of equal ids the first one's place and the last one's node.
void one_per_id(const Store& store, Selection& selection) {
  std::map<std::size_t, std::size_t> by_id;
  for (const std::size_t ordinal : selection.selected) by_id[store[ordinal].first] = ordinal;
  selection.selected.clear();
  for (const auto& [first, ordinal] : by_id) {
    selection.selected_ids.push_back(first);
    selection.selected.push_back(ordinal);
  }
}

void sort_unique(Ordinals& ordinals) {
  std::sort(ordinals.begin(), ordinals.end());
  ordinals.erase(std::unique(ordinals.begin(), ordinals.end()), ordinals.end());
}

}  // namespace

Value message_content(const Value& payload) {
  const Value content = payload.get("content");
  return content.is_null() ? payload.get("text") : content;
}

std::vector<bool> marks(const Store& store, const Ordinals& ordinals) {
  std::vector<bool> out(store.size());
  for (const std::size_t ordinal : ordinals) out[ordinal] = true;
  return out;
}

Ordinals latest_messages(const Store& store) {
  std::optional<std::size_t> user, assistant;
  Value role;
  for (const Node& node : store.nodes()) {
    if (node.kind != ctree::kMessage) continue;
    const std::string_view text = role_of(node, role);
    if (text == "user") user = node.first;
    if (text == "assistant") assistant = node.first;
  }
  Ordinals out;
  if (user) out.push_back(*user);
  if (assistant && assistant != user) out.push_back(*assistant);
  return out;
}

Selection select(const Store& store, const Config& config) {
  const std::set<std::string, std::less<>> kinds(config.kinds.begin(), config.kinds.end());
  Selection out;
  out.pinned = pins(store, config);
  const std::vector<bool> pinned = marks(store, out.pinned);
  std::vector<std::size_t> allowed;
  for (std::size_t i = 0; i < store.size(); ++i) {
    if (kinds.contains(store[i].kind)) allowed.push_back(i);
  }
  for (const std::size_t ordinal : allowed) out.candidates.push_back(store[ordinal].first);
  sort_unique(out.candidates);

  out.selected = allowed;
  if (!config.max_turns.is_null() && is_true(config.max_turns)) keep_last_turns(store, nearest_int64(config.max_turns), out.selected);
  const std::int64_t most = config.max_nodes.is_null() ? 0 : nearest_int64(config.max_nodes);  // 0 is no limit
  const auto count = static_cast<std::int64_t>(out.selected.size());
  if (most > 0 && count > most) out.selected.erase(out.selected.begin(), out.selected.end() - most);
  if (!config.max_message_chars.is_null()) keep_within_chars(store, nearest_int64(config.max_message_chars), pinned, out.selected);

  // Pins come only where something else was selected: a fault that is kept.
  if (!out.selected.empty()) {
    std::vector<bool> present(store.size());
    for (const std::size_t ordinal : out.selected) present[store[ordinal].first] = true;
    for (const std::size_t ordinal : allowed) {
      const std::size_t first = store[ordinal].first;
      if (!pinned[first] || present[first]) continue;
      out.selected.push_back(ordinal);
      present[first] = true;
    }
  }
  one_per_id(store, out);
  std::sort(out.pinned.begin(), out.pinned.end());
  return out;
}

}  // namespace weir::breadboard
