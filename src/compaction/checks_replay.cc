#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "compaction/checks.h"
#include "compaction/snapshot.h"

namespace weir::compaction {
namespace {

// Where two documents differ first, in canonical order; nothing: they do not.
std::optional<std::string> first_difference(const json::Value& a, const json::Value& b, const Path& path);

std::optional<std::string> first_different_item(const json::Value& a, const json::Value& b, const Path& path) {
  const auto x = a.items(), y = b.items();
  const std::size_t common = std::min(x.size(), y.size());
  for (std::size_t i = 0; i < common; ++i) {
    if (auto found = first_difference(x[i], y[i], path.element(i))) return found;
  }
  if (x.size() != y.size()) return path.element(common).str();
  return std::nullopt;
}

std::optional<std::string> first_different_member(const json::Value& a, const json::Value& b, const Path& path) {
  const auto x = a.members(), y = b.members();
  const std::size_t common = std::min(x.size(), y.size());
  for (std::size_t i = 0; i < common; ++i) {
    // The keys are in order: the lesser one is in one document only.
    if (x[i].key != y[i].key) return path.member(json::compare_keys(x[i].key, y[i].key) < 0 ? x[i].key : y[i].key).str();
    if (auto found = first_difference(x[i].value, y[i].value, path.member(x[i].key))) return found;
  }
  if (x.size() != y.size()) return path.member(x.size() > common ? x[common].key : y[common].key).str();
  return std::nullopt;
}

std::optional<std::string> first_difference(const json::Value& a, const json::Value& b, const Path& path) {
  if (a.is_array() && b.is_array()) return first_different_item(a, b, path);
  if (a.is_object() && b.is_object()) return first_different_member(a, b, path);
  if (a == b) return std::nullopt;
  return path.str();
}

std::map<std::string_view, const json::Value*> by_id(const json::Value& snapshot, std::string_view list, std::string_view key) {
  std::map<std::string_view, const json::Value*> out;
  for (const json::Value& record : member(snapshot, "state", list).items()) out.emplace(record.text_or(key, ""), &record);
  return out;
}

// There is a snapshot before this one, and nobody can read it.
std::optional<Outcome> unreadable_previous(const Examined& it) {
  const Accepted* before = it.state().last_accepted();
  if (before == nullptr || it.facts.previous != nullptr) return std::nullopt;
  return failed(fmt::format("not checked: snapshot {} cannot be read", before->sequence));
}

}  // namespace

Outcome no_silent_drop(const Examined& it) {
  if (auto unreadable = unreadable_previous(it)) return *unreadable;
  if (it.facts.previous == nullptr) return passed("first snapshot on this path");
  constexpr std::pair<std::string_view, std::string_view> kLists[] = {
      {"claims", "claim_id"}, {"conflicts", "conflict_id"}, {"failures", "failure_id"}};
  Findings gone, reworded;
  for (const auto& [list, key] : kLists) {
    const auto now = by_id(it.shown, list, key);
    for (const json::Value& record : member(*it.facts.previous, "state", list).items()) {
      const std::string_view id = record.text_or(key, "");
      const auto same = now.find(id);
      if (same == now.end()) {
        gone.add([&] { return told(id); });
      } else if (record.text_or("statement", "") != same->second->text_or("statement", "")) {
        reworded.add([&] { return told(id); });
      }
    }
  }
  if (!gone.none()) return gone.failed("ids of the previous snapshot are gone");
  if (!reworded.none()) return reworded.failed("claim statements reworded");
  return passed(
      fmt::format("every id of snapshot {} still present, statements unchanged", member(*it.facts.previous, "sequence").integer()));
}

Outcome fold_reproduces_state(const Examined& it) {
  if (!it.built) return failed("no RUN_STARTED and no user message on the path");
  if (const auto where = first_difference(it.hashed, *it.built, Path{}))
    return failed("differs from a replay of the log; first: " + *where);
  return passed(fmt::format("replay to position {} gives this snapshot", it.facts.entries));
}

Outcome deltas_match_previous(const Examined& it) {
  if (auto unreadable = unreadable_previous(it)) return *unreadable;
  const json::Value* before = it.facts.previous == nullptr ? nullptr : it.facts.previous->find("state");
  const json::Value gives = deltas(member(it.shown, "state"), before, it.arena);
  const Path root;
  if (const auto where = first_difference(member(it.shown, "deltas"), gives, root.member("deltas")))
    return failed("deltas are not the difference to the previous snapshot; first: " + *where);
  return passed("deltas recomputed");
}

}  // namespace weir::compaction
