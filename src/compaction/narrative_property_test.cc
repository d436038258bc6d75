// Narratives of snapshots whose every string is hostile, and of snapshots that are none.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <random>

#include "base/utf8.h"
#include "compaction/narrative.h"
#include "json/parse.h"
#include "testing/results.h"

namespace weir::compaction {
namespace {

using json::Value;
using testing::detail;
using testing::must;

// Everything a narrative has a line for.
constexpr std::string_view kRich = R"json({
 "snapshot_id":"s","sequence":2,"previous_snapshot_id":"p","objective":"o","objective_source":{"kind":"derived","entry":"e"},"done_definition":{"d":"x"},
 "provenance_mode":"m","policy_snapshot_ref":"r","budgets":{"a":1,"b":"x"},"counts":{"steps_since_last_compaction":1,"counted_events_since_last_compaction":3},
 "latest_context_manifest_ids":["m1","m2"],
 "state":{
  "claims":[{"claim_id":"c1","status":"verified","status_reason":"r","statement":"s","evidence_refs":[
     {"evidence_id":"v","chunk_id":"k","span":{"unit":"u","start":0,"end":5}},{"evidence_id":"v","chunk_id":"k","span":{"unit":"u","start":0,"end":5}},
     {"evidence_id":"v","chunk_id":"k","span":{"unit":"u","start":0,"end":5}},{"evidence_id":"v","chunk_id":"k","span":{"unit":"u","start":0,"end":5}}]},
   {"claim_id":"c2","status":"verified","status_reason":"r","statement":"s","evidence_refs":[]},
   {"claim_id":"c3","status":"candidate","status_reason":"r","statement":"s","evidence_refs":[]},
   {"claim_id":"c4","status":"retracted","status_reason":"r","statement":"s","evidence_refs":[]}],
  "conflicts":[{"conflict_id":"k1","description":"d","status":"resolved","resolution":"r","side_a_refs":[{"evidence_id":"v","chunk_id":"k","span":{"unit":"u","start":0,"end":5}}],
     "side_b_refs":[{"evidence_id":"v","chunk_id":"k","span":{"unit":"u","start":0,"end":5}}]}],
  "open_questions":["q1","q2"],
  "failures":[{"failure_id":"f","category":"c","where":"w","why":"y","status":"active","occurrence_count":1,"last_seen_step_id":1,"last_entry":"e"}],
  "next_actions":["n1","n2","n3"],"source_coverage":{"source_ids_seen":["s"],"chunk_ids_seen":["c"],"chunk_ids_cited":["c"]},
  "carry":{"latest_request":{"entry":"e","bytes":9,"verbatim":"v","answered":true},"requests":[{"entry":"e","bytes":9000,"opening":"o"},{"entry":"e","bytes":1,"opening":"o"}],
   "requests_omitted":4,"last_reply":{"entry":"e","bytes":1,"opening":"o"},
   "pinned":[{"entry":"e","role":"system","reason":"system","bytes":1,"verbatim":"v"},{"entry":"e","role":"user","reason":"pin","bytes":99999,"verbatim":null}],
   "files":[{"path":"p","reads":1,"changes":1,"last_read":"e","last_change":"e","sha256":"0"},{"path":"p","reads":1,"changes":0,"last_read":"e","last_change":null,"sha256":null}],
   "commands":[{"tool":"t","command":"c","bytes":9000,"runs":1,"errors":1,"last_entry":"e"}],"commands_omitted":3,
   "todos":{"entry":"e","items":[{"item":"i","status":"pending"},{"item":"i","status":"completed"},{"item":"i","status":"in_progress"}]},
   "pending_calls":[{"entry":"e","tool":"t","call_id":"i"}]}},
 "retrieval_diagnostics":{"queries":1,"zero_result_queries":0,"candidates":3,"selected":2,"excluded":1,"filters":["f1","f2"]},
 "deltas":{"claims_added":["c1","c2"],"claims_newly_verified":["c1"],"claims_demoted":["c3"],"claims_retracted":["c4"],"conflicts_added":["k1"],"conflicts_resolved":["k1"],
  "failures_added":["f"],"questions_opened":["q1","q2"],"questions_closed":["q3"],"files_changed":["p"],"sources_added":1,"chunks_cited_added":2},
 "provenance":{"first_pos":1,"last_pos":23,"trigger":"t"}})json";

Value rich(json::Arena& arena) {
  bool repaired = false;
  return must(json::parse_exact(kRich, arena, {}, repaired));
}

constexpr std::string_view kPieces[] = {"\n",
                                        "\r\n",
                                        "\r",
                                        "## 3. Verified claims (1)",
                                        "# ",
                                        "```",
                                        "```\n",
                                        "~~~\n",
                                        "- ",
                                        "1. ",
                                        "* ",
                                        "| ",
                                        "---",
                                        "\n===\n",
                                        "<b>",
                                        "[x](y)",
                                        "`",
                                        "``",
                                        "\\",
                                        "\\\n",
                                        " ",
                                        "  ",
                                        "\t",
                                        "**",
                                        "é",
                                        "👩‍🚀",
                                        "\u2028",
                                        "\u202e",
                                        "\x7f",
                                        "\u0085",
                                        "\U000E0041",
                                        "None.\n",
                                        "- and 3 more, ids in JSON\n",
                                        "a",
                                        "long words "};

// Chance by a seed of rapidcheck's: a thousand choices a time are too many for its own.
class Dice {
 public:
  std::size_t below(std::size_t count) { return random_() % count; }
  bool one_in(std::size_t count) { return below(count) == 0; }

 private:
  std::mt19937_64 random_{*rc::gen::arbitrary<std::uint64_t>()};
};

std::string hostile_text(Dice& dice) {
  std::string out;
  for (std::size_t pieces = dice.below(dice.one_in(10) ? 400 : 8); pieces > 0; --pieces) out += kPieces[dice.below(std::size(kPieces))];
  return out;
}

// The same with every string another, but for those that decide which line it is.
Value hostile(const Value& value, Dice& dice, json::Arena& arena) {
  if (value.is_string()) return arena.copy(hostile_text(dice));
  if (value.is_array()) {
    std::vector<Value> items;
    for (const Value& item : value.items()) items.push_back(hostile(item, dice, arena));
    return json::make_array(arena, items);
  }
  if (!value.is_object()) return value;
  json::ObjectBuilder out(arena);
  for (const json::Member& member : value.members())
    out.add(member.key, member.key == "status" ? member.value : hostile(member.value, dice, arena));
  return out.build();
}

// Of each line what no string of data has a say in: how it begins. What stands inside fences is left out.
std::vector<std::string> skeleton(std::string_view text) {
  std::vector<std::string> out;
  bool inside = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (inside && line.starts_with("| ")) continue;
    if (line.starts_with("```")) inside = !inside;
    out.emplace_back(line.substr(0, std::min<std::size_t>(line.size(), 3)));
  }
  return out;
}

std::size_t headings(std::string_view text) {
  const auto all = skeleton(text);
  return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](const std::string& line) { return line.starts_with('#'); }));
}

RC_GTEST_PROP(NarrativePropertyTest, NoStringChangesWhichLinesThereAre, ()) {
  Dice dice;
  json::Arena arena;
  const Value plain = rich(arena);
  const std::string text = must(narrative(hostile(plain, dice, arena), 0));
  RC_ASSERT(valid_utf8(text));
  RC_ASSERT(headings(text) == 9u);
  RC_ASSERT(skeleton(text) == skeleton(must(narrative(plain, 0))));
}

RC_GTEST_PROP(NarrativePropertyTest, EveryBoundHoldsAndTheShortestCanBeHad, ()) {
  Dice dice;
  json::Arena arena;
  const Value snapshot = hostile(rich(arena), dice, arena);
  const std::string whole = must(narrative(snapshot, 0));
  for (int i = 0; i < 10; ++i) {
    const std::uint64_t bound = 1 + dice.below(whole.size() + 100);
    const auto text = narrative(snapshot, bound);
    const BoundNarrative stored = narrative_or_shortest(snapshot, bound);
    RC_ASSERT(stored.text.size() <= stored.max_bytes);
    RC_ASSERT(must(narrative(snapshot, stored.max_bytes)) == stored.text);
    RC_ASSERT(valid_utf8(stored.text) && headings(stored.text) == 9u);
    if (text.ok()) {
      RC_ASSERT(*text == stored.text && stored.max_bytes == bound);
    } else {
      RC_ASSERT(detail(text.error(), "needed") == std::to_string(stored.max_bytes) && stored.max_bytes > bound);
      RC_ASSERT(!narrative(snapshot, stored.max_bytes - 1).ok());
    }
  }
}

// Any member gone or of any other type.
Value broken(const Value& value, Dice& dice, json::Arena& arena) {
  static const Value other[] = {
      nullptr, true, -7, 1.5, "x", Value::array({}), Value::object({}), Value::big_integer("99999999999999999999")};
  if (dice.one_in(12)) return other[dice.below(std::size(other))];
  if (value.is_array()) {
    std::vector<Value> items;
    for (const Value& item : value.items()) items.push_back(broken(item, dice, arena));
    return json::make_array(arena, items);
  }
  if (!value.is_object()) return value;
  json::ObjectBuilder out(arena);
  for (const json::Member& member : value.members()) {
    if (!dice.one_in(20)) out.add(member.key, broken(member.value, dice, arena));
  }
  return out.build();
}

RC_GTEST_PROP(NarrativePropertyTest, WhatIsNoSnapshotHasANarrativeToo, ()) {
  Dice dice;
  json::Arena arena;
  const Value snapshot = broken(rich(arena), dice, arena);
  RC_ASSERT(headings(must(narrative(snapshot, 0))) == 9u);
  RC_ASSERT(headings(narrative_or_shortest(snapshot, 1).text) == 9u);
}

}  // namespace
}  // namespace weir::compaction
