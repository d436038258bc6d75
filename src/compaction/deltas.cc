// The difference of two snapshots' states, from their JSON alone: the validator recomputes it for snapshots of any origin.
#include <map>
#include <set>

#include "compaction/snapshot.h"

namespace weir::compaction {
namespace {

using json::Arena;
using json::Value;
using Ids = std::vector<Value>;

std::span<const Value> items(const Value* state, std::string_view key) {
  const Value* list = state == nullptr ? nullptr : state->find(key);
  return list == nullptr ? std::span<const Value>() : list->items();
}

// `state`'s value of a record by its id.
std::map<std::string_view, std::string_view> statuses(const Value* state, std::string_view list, std::string_view id_key) {
  std::map<std::string_view, std::string_view> out;
  for (const Value& item : items(state, list)) out.emplace(item.text_or(id_key, ""), item.text_or("status", ""));
  return out;
}

class Differing {
 public:
  Differing(const Value& state, const Value* previous, Arena& arena) : now_(state), before_(previous), arena_(arena) {}

  Value run() {
    json::ObjectBuilder out(arena_);
    claims(out);
    conflicts(out);
    const auto failures = statuses(before_, "failures", "failure_id");
    out.add("failures_added", ids("failures", "failure_id", [&](std::string_view id, const Value&) { return !failures.contains(id); }))
        .add("questions_opened", left_over(items(&now_, "open_questions"), items(before_, "open_questions")))
        .add("questions_closed", left_over(items(before_, "open_questions"), items(&now_, "open_questions")))
        .add("files_changed", files_changed())
        .add("sources_added", added("source_ids_seen"))
        .add("chunks_cited_added", added("chunk_ids_cited"));
    return out.build();
  }

 private:
  template <typename Wanted>
  Value ids(std::string_view list, std::string_view key, Wanted&& wanted) {
    Ids out;
    for (const Value& item : items(&now_, list)) {
      const std::string_view id = item.text_or(key, "");
      if (wanted(id, item)) out.push_back(id);
    }
    return json::make_array(arena_, out);
  }

  void claims(json::ObjectBuilder& out) {
    const auto before = statuses(before_, "claims", "claim_id");
    const auto was = [&](std::string_view id) {
      const auto it = before.find(id);
      return it == before.end() ? std::string_view() : it->second;
    };
    // Now `now`, and not `now` before.
    const auto became = [&](std::string_view now) {
      return ids("claims", "claim_id",
                 [&, now](std::string_view id, const Value& claim) { return claim.text_or("status", "") == now && was(id) != now; });
    };
    out.add("claims_added", ids("claims", "claim_id", [&](std::string_view id, const Value&) { return !before.contains(id); }))
        .add("claims_newly_verified", became("verified"))
        .add("claims_demoted", ids("claims", "claim_id",
                                   [&](std::string_view id, const Value& claim) {
                                     return was(id) == "verified" && claim.text_or("status", "") == "candidate";
                                   }))
        .add("claims_retracted", became("retracted"));
  }

  void conflicts(json::ObjectBuilder& out) {
    const auto before = statuses(before_, "conflicts", "conflict_id");
    out.add("conflicts_added", ids("conflicts", "conflict_id", [&](std::string_view id, const Value&) { return !before.contains(id); }))
        .add("conflicts_resolved", ids("conflicts", "conflict_id", [&](std::string_view id, const Value& conflict) {
               const auto it = before.find(id);
               return conflict.text_or("status", "") == "resolved" && (it == before.end() || it->second != "resolved");
             }));
  }

  // Texts of `from` that `other` does not have as often.
  Value left_over(std::span<const Value> from, std::span<const Value> other) {
    std::map<std::string_view, std::size_t> there;
    for (const Value& text : other) ++there[text.text()];
    Ids out;
    for (const Value& text : from) {
      const auto it = there.find(text.text());
      if (it == there.end() || it->second == 0) {
        out.push_back(text);
      } else {
        --it->second;
      }
    }
    return json::make_array(arena_, out);
  }

  static std::span<const Value> files(const Value* state) {
    const Value* carry = state == nullptr ? nullptr : state->find("carry");
    return items(carry, "files");
  }
  static std::int64_t changes(const Value& file) {
    const Value* changes = file.find("changes");
    return changes != nullptr && changes->is_integer() ? changes->integer() : 0;
  }
  Value files_changed() {
    std::map<std::string_view, std::int64_t> before;
    for (const Value& file : files(before_)) before.emplace(file.text_or("path", ""), changes(file));
    Ids out;
    for (const Value& file : files(&now_)) {
      const std::string_view path = file.text_or("path", "");
      const auto it = before.find(path);
      if (changes(file) > (it == before.end() ? 0 : it->second)) out.push_back(path);
    }
    return json::make_array(arena_, out);
  }

  static std::span<const Value> coverage(const Value* state, std::string_view key) {
    return items(state == nullptr ? nullptr : state->find("source_coverage"), key);
  }
  Value added(std::string_view key) {
    std::set<std::string_view> before;
    for (const Value& id : coverage(before_, key)) before.insert(id.text());
    const auto now = coverage(&now_, key);
    return std::count_if(now.begin(), now.end(), [&](const Value& id) { return !before.contains(id.text()); });
  }

  const Value& now_;
  const Value* before_;
  Arena& arena_;
};

}  // namespace

Value deltas(const Value& state, const Value* previous_state, Arena& arena) { return Differing(state, previous_state, arena).run(); }

}  // namespace weir::compaction
