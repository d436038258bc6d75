#include "testing/snapshot_edit.h"

#include <algorithm>

#include "compaction/snapshot.h"
#include "json/canonical.h"
#include "json/parse.h"
#include "testing/results.h"

namespace weir::testing {

json::Value edited(const json::Value& value, std::string_view path, const json::Value* by, json::Arena& arena) {
  if (path.empty()) return *by;
  const std::string_view step = path.substr(0, path.find('.'));
  const std::string_view rest = step.size() == path.size() ? "" : path.substr(step.size() + 1);
  const bool erase = rest.empty() && by == nullptr;
  if (value.is_array()) {
    std::vector<json::Value> items(value.items().begin(), value.items().end());
    const std::size_t at = std::stoul(std::string(step));
    if (erase) {
      items.erase(items.begin() + static_cast<std::ptrdiff_t>(at));
    } else if (at == items.size()) {
      items.push_back(*by);
    } else {
      items.at(at) = edited(items.at(at), rest, by, arena);
    }
    return json::make_array(arena, items);
  }
  json::ObjectBuilder out(arena);
  bool found = false;
  for (const json::Member& member : value.members()) {
    const bool here = member.key == step;
    found |= here;
    if (!here) {
      out.add(member.key, member.value);
    } else if (!erase) {
      out.add(member.key, edited(member.value, rest, by, arena));
    }
  }
  if (!found && !erase) out.add(arena.copy(step), *by);
  return out.build();
}

std::string with(std::string_view shown, const std::vector<Edit>& edits, bool new_id) {
  json::Parser parser;
  json::Arena arena;
  json::Value value = must(parser.parse(shown));
  bool repaired = false;
  for (const Edit& edit : edits) {
    const json::Value by = edit.by == kErase ? json::Value() : must(json::parse_exact(edit.by, arena, {}, repaired));
    value = edited(value, edit.path, edit.by == kErase ? nullptr : &by, arena);
  }
  if (!new_id) return json::canonical(value);
  const std::string id = compaction::snapshot_id(compaction::hashed_form(value, arena));
  const json::Value id_value(id);
  return json::canonical(edited(value, "snapshot_id", &id_value, arena));
}

const json::Value* look_up(const json::Value& root, std::string_view path) {
  const json::Value* value = &root;
  while (!path.empty()) {
    const std::string_view step = path.substr(0, path.find('.'));
    path.remove_prefix(std::min(path.size(), step.size() + 1));
    value = value->is_array() ? &value->items()[std::stoul(std::string(step))] : value->find(step);
  }
  return value;
}

std::string at(std::string_view shown, std::string_view path) {
  json::Parser parser;
  return json::canonical(*look_up(must(parser.parse(shown)), path));
}

}  // namespace weir::testing
