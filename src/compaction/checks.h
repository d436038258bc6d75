// Between validate.cc and the files of checks: what a check looks at, how it answers, and the names of all of them. Each one
// is a function of a candidate and the facts of the log; docs/snapshot.md has their messages.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "compaction/trigger.h"
#include "compaction/validate.h"

namespace weir::compaction {

struct Outcome {
  bool pass = true;
  std::string message;
  std::optional<Error> unread = {};  // why there is no outcome
};
inline Outcome passed(std::string message) { return {true, std::move(message)}; }
inline Outcome failed(std::string message) { return {false, std::move(message)}; }

// What a counting check found: how many, and the first of them in words.
class Findings {
 public:
  template <typename Describe>
  void add(Describe&& describe) {
    if (count_++ == 0) first_ = describe();
  }
  bool none() const { return count_ == 0; }
  // `<n> <what>; first: <item>`
  Outcome failed(std::string_view what) const;

 private:
  std::size_t count_ = 0;
  std::string first_;
};

// An evidence pointer of the candidate. Of a malformed one, what could be read.
struct Cited {
  enum class Where { claim, withdrawn, side_a, side_b };
  Where where = Where::claim;
  std::string_view owner;  // the claim or conflict
  bool well_formed = false;
  std::string_view evidence_id, chunk_id;
  Span span;
  const Evidence* record = nullptr;  // the ledger's of that id; null: none, or no ledger
  bool withdrawn = false;            // in the ledger

  bool relied_on() const { return where != Where::withdrawn && record != nullptr && !withdrawn; }
  std::string label() const;  // `claim c1`, `conflict k1/a`
};

// A candidate without schema problems, and what it is held against.
struct Examined {
  const json::Value& shown;
  const LogFacts& facts;
  json::Arena& arena;
  json::Value hashed;                // of the candidate
  std::optional<Trigger> trigger;    // the candidate's
  std::optional<json::Value> built;  // the hashed form that the log gives; nothing: it gives none
  std::vector<Cited> pointers;       // claims first, in their order

  // The log's; only where the check's row says that it needs them.
  const RunState& state() const { return *facts.state; }
  Outcome unfolded() const;  // where there is no state
  std::uint64_t first_pos() const;
};

// The member there, or null: what a schema demands is there, of anything else nobody knows.
const json::Value& member(const json::Value& value, std::string_view key);
const json::Value& member(const json::Value& value, std::string_view key, std::string_view inner);

// A string of the candidate in a message: it may be anything and of any length.
std::string told(std::string_view text);

// Where in a document: `state.claims[3].status`.
struct Path {
  const Path* up = nullptr;
  std::string_view key;
  std::size_t index = 0;
  bool item = false;

  Path member(std::string_view name) const { return {this, name, 0, false}; }
  Path element(std::size_t at) const { return {this, {}, at, true}; }
  std::string str() const;
};

// Of the keys and types of a document: their number, and the first few in words.
struct SchemaProblems {
  std::size_t count = 0;
  std::vector<std::string> first;
};
SchemaProblems schema_problems(const json::Value& document);

// checks_form.cc: the candidate alone.
Outcome snapshot_id_deterministic(const Examined& it);
Outcome ids_unique(const Examined& it);
Outcome evidence_pointers_well_formed(const Examined& it);
Outcome verified_claims_have_evidence(const Examined& it);
Outcome conflicts_two_sided(const Examined& it);
Outcome coverage_consistent(const Examined& it);
Outcome pointers_only(const Examined& it);

// checks_log.cc: its place in the log.
Outcome sequence_contiguous(const Examined& it);
Outcome run_id_stable(const Examined& it);
Outcome objective_unchanged(const Examined& it);
Outcome done_definition_unchanged(const Examined& it);
Outcome log_chain_intact(const Examined& it);
Outcome event_range_contiguous(const Examined& it);
Outcome counts_match_log(const Examined& it);
Outcome manifests_complete(const Examined& it);

// checks_ledger.cc: claims and evidence.
Outcome ledger_consistent(const Examined& it);
Outcome life_cycle_legal(const Examined& it);
Outcome evidence_pointers_resolve(const Examined& it);
Outcome evidence_ids_deterministic(const Examined& it);
Outcome quotes_verify(const Examined& it);
Outcome no_new_verified_claims(const Examined& it);

// checks_replay.cc: the whole of it against a replay and against the snapshot before.
Outcome no_silent_drop(const Examined& it);
Outcome fold_reproduces_state(const Examined& it);
Outcome deltas_match_previous(const Examined& it);

}  // namespace weir::compaction
