// A snapshot as JSON, in its three forms: hashed (what the id covers), stored (with id and validation), shown (with what
// differs between two recordings of one conversation). docs/snapshot.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/sha256.h"
#include "compaction/run_state.h"
#include "compaction/trigger.h"
#include "json/value.h"

namespace weir::compaction {

inline constexpr std::string_view kCompactorVersion = "weir.snapshot/1";

// Everything a snapshot is made of.
struct SnapshotInput {
  const RunState& state;                  // at the cut
  Digest cut;                             // digest of the cut
  const std::vector<Pin>& pins;           // messages pinned by hand, in path order; they stand in the log, not in the state
  const json::Value* previous = nullptr;  // the accepted snapshot before, stored or shown; null: there is none
  Trigger trigger = Trigger::manual;
};

// The hashed form. The state must have a run or a request. Its strings may point into the state.
json::Value build(const SnapshotInput& input, json::Arena& arena);

// Where a snapshot at this state begins: the entry behind the last accepted cut, or the path's first.
const Place& first_place(const RunState& state);

// The difference of a snapshot's `state` to the previous snapshot's (null: to nothing), from their JSON alone.
json::Value deltas(const json::Value& state, const json::Value* previous_state, json::Arena& arena);

// Of a run's ledger: claims, evidence, withdrawn.
Digest ledger_digest(const RunState& state);

// The hashed form of a shown or stored one: without snapshot_id, validation, run_id, created_at, provenance.located.
json::Value hashed_form(const json::Value& snapshot, json::Arena& arena);
std::string snapshot_id(const json::Value& hashed);

json::Value stored_form(const json::Value& hashed, std::string_view id, const json::Value& validation, json::Arena& arena);

// What is filled in from the session and the log whenever a snapshot is shown.
struct ShownOnly {
  std::string run_id;
  std::string created_at;
  Place first, last;  // provenance.located
};
json::Value shown_form(const json::Value& stored, const ShownOnly& shown, json::Arena& arena);

// {"evidence_id","chunk_id","span"}
json::Value evidence_pointer(std::string_view evidence_id, const Evidence& evidence, json::Arena& arena);
json::Value span_json(const Span& span, json::Arena& arena);

// `ev1_...` from the namespace (index wins over corpus), chunk and span; empty without a namespace.
std::string derive_evidence_id(const Evidence& evidence);
// `man1_...`
std::string derive_manifest_id(const json::Value& manifest);
// `fail1_...`
std::string derive_failure_id(std::string_view category, std::string_view where, const std::optional<std::string>& error_code,
                              const std::optional<std::string>& tool_name);

}  // namespace weir::compaction
