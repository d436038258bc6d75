#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compaction/checks.h"
#include "compaction/snapshot.h"

namespace weir::compaction {
namespace {

constexpr std::string_view kRawContentKeys[] = {"quote", "text", "content", "raw", "blob", "html", "prompt", "tool_output"};

bool is_sorted_set(const json::Value& list) {
  const auto items = list.items();
  return std::adjacent_find(items.begin(), items.end(), [](const json::Value& a, const json::Value& b) { return a.text() >= b.text(); }) ==
         items.end();
}

std::set<std::string_view> evidence_ids(const json::Value& refs) {
  std::set<std::string_view> out;
  for (const json::Value& pointer : refs.items()) {
    if (const std::string_view id = pointer.text_or("evidence_id", ""); !id.empty()) out.insert(id);
  }
  return out;
}

// What is not a pointer but content.
class InlinedContent {
 public:
  void look_at(const json::Value& value, const Path& path) {
    if (value.is_string() && value.text().size() > kMostText) too_long(path, value.text().size());
    std::size_t at = 0;
    for (const json::Value& item : value.items()) look_at(item, path.element(at++));
    for (const json::Member& inner : value.members()) {
      const Path below = path.member(inner.key);
      if (std::find(std::begin(kRawContentKeys), std::end(kRawContentKeys), inner.key) != std::end(kRawContentKeys)) {
        found.add([&] { return below.str() + " is a raw-content key"; });
        continue;
      }
      if (inner.key.size() > kMostText) too_long(below, inner.key.size());
      look_at(inner.value, below);
    }
  }

  Findings found;

 private:
  void too_long(const Path& path, std::size_t bytes) {
    found.add([&] { return fmt::format("{} is {} bytes", path.str(), bytes); });
  }
};

}  // namespace

Outcome snapshot_id_deterministic(const Examined& it) {
  const std::string_view says = it.shown.text_or("snapshot_id", "");
  const std::string gives = snapshot_id(it.hashed);
  if (says != gives) return failed(fmt::format("snapshot_id is {}, content gives {}", told(says), gives));
  return passed("snapshot_id matches content");
}

// Over all three kinds: append lets none take another's (event_rules.cc).
Outcome ids_unique(const Examined& it) {
  constexpr std::pair<std::string_view, std::string_view> kLists[] = {
      {"claims", "claim_id"}, {"conflicts", "conflict_id"}, {"failures", "failure_id"}};
  Findings repeated;
  std::set<std::string_view> once, twice;
  for (const auto& [list, key] : kLists) {
    for (const json::Value& record : member(it.shown, "state", list).items()) {
      const std::string_view id = record.text_or(key, "");
      if (!once.insert(id).second && twice.insert(id).second) repeated.add([&] { return told(id); });
    }
  }
  return repeated.none() ? passed("claim, conflict and failure ids unique") : repeated.failed("duplicate ids");
}

Outcome evidence_pointers_well_formed(const Examined& it) {
  Findings malformed;
  for (const Cited& pointer : it.pointers) {
    if (!pointer.well_formed) malformed.add([&] { return pointer.label(); });
  }
  return malformed.none() ? passed(fmt::format("{} pointers well formed", it.pointers.size())) : malformed.failed("malformed pointers");
}

Outcome verified_claims_have_evidence(const Examined& it) {
  Findings bare;
  std::size_t verified = 0;
  for (const json::Value& claim : member(it.shown, "state", "claims").items()) {
    if (claim.text_or("status", "") != "verified") continue;
    ++verified;
    if (member(claim, "evidence_refs").items().empty()) bare.add([&] { return told(claim.text_or("claim_id", "")); });
  }
  if (!bare.none()) return bare.failed("verified claims without evidence");
  return passed(fmt::format("{} verified claims, each with at least 1 pointer", verified));
}

Outcome conflicts_two_sided(const Examined& it) {
  Findings lopsided;
  const auto conflicts = member(it.shown, "state", "conflicts").items();
  for (const json::Value& conflict : conflicts) {
    const json::Value &a = member(conflict, "side_a_refs"), &b = member(conflict, "side_b_refs");
    const auto name = [&] { return told(conflict.text_or("conflict_id", "")); };
    if (a.items().empty() || b.items().empty()) {
      lopsided.add([&] { return name() + " has an empty side"; });
      continue;
    }
    const auto on_a = evidence_ids(a), on_b = evidence_ids(b);
    if (std::any_of(on_a.begin(), on_a.end(), [&](std::string_view id) { return on_b.contains(id); }))
      lopsided.add([&] { return name() + " cites the same evidence on both sides"; });
  }
  if (!lopsided.none()) return lopsided.failed("conflicts not two-sided");
  return passed(fmt::format("{} conflicts, both sides cited", conflicts.size()));
}

Outcome coverage_consistent(const Examined& it) {
  const json::Value& coverage = member(it.shown, "state", "source_coverage");
  for (const std::string_view list : {"source_ids_seen", "chunk_ids_seen", "chunk_ids_cited"}) {
    if (!is_sorted_set(member(coverage, list))) return failed(fmt::format("{} is not a sorted set", list));
  }
  std::set<std::string_view> cited;
  for (const Cited& pointer : it.pointers) {
    if (pointer.where != Cited::Where::withdrawn && !pointer.chunk_id.empty()) cited.insert(pointer.chunk_id);
  }
  const auto says = member(coverage, "chunk_ids_cited").items(), seen = member(coverage, "chunk_ids_seen").items();
  if (!std::equal(says.begin(), says.end(), cited.begin(), cited.end(),
                  [](const json::Value& a, std::string_view b) { return a.text() == b; }))
    return failed("chunk_ids_cited is not the set of cited chunks");
  Findings unseen;
  for (const std::string_view chunk : cited) {
    const auto place =
        std::lower_bound(seen.begin(), seen.end(), chunk, [](const json::Value& a, std::string_view b) { return a.text() < b; });
    if (place == seen.end() || place->text() != chunk) unseen.add([&] { return told(chunk); });
  }
  if (!unseen.none()) return unseen.failed("chunks cited but never seen");
  return passed(fmt::format("{} sources seen, {} chunks seen, {} cited", member(coverage, "source_ids_seen").items().size(), seen.size(),
                            says.size()));
}

Outcome pointers_only(const Examined& it) {
  InlinedContent inlined;
  const Path root;
  for (const std::string_view part : {"objective", "state", "retrieval_diagnostics", "deltas"})
    inlined.look_at(member(it.shown, part), root.member(part));
  if (!inlined.found.none()) return inlined.found.failed("inlined blobs");
  return passed(fmt::format("no string over {} bytes, no raw-content key", kMostText));
}

}  // namespace weir::compaction
