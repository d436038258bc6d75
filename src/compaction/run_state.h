// What a run has come to at one entry of its path: the state that the run fold keeps (run_fold.h) and that a snapshot is
// built from (snapshot.h). Maps are persistent, records in them are never changed but replaced.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "session/bodies.h"
#include "session/id_index.h"
#include "session/pmap.h"
#include "session/pvec.h"
#include "store/entry.h"

namespace weir::compaction {

inline constexpr std::size_t kMostText = 16384;  // bytes of a string that a snapshot carries
inline constexpr std::size_t kMostId = 256;      // bytes of an id
inline constexpr std::size_t kOpening = 512;     // bytes of a text that is only begun
inline constexpr std::size_t kMostListed = 200;  // earlier requests, commands

// An entry by its content: the first 64 bits of its digest, shown as `e` + 16 hex digits. Nothing else that names an entry
// may be hashed.
struct Pointer {
  std::uint64_t bits = 0;
  std::string str() const;
  auto operator<=>(const Pointer&) const = default;
};

// An entry as a place on its path. `seq` and `id` are for people: they are shown, never hashed.
struct Place {
  std::uint64_t pos = 0;  // from 1
  Pointer pointer;
  Seq seq = 0;
  std::string id;
  bool operator==(const Place&) const = default;
};

// Records by id, in the order in which the ids came.
template <typename Record>
class Register {
 public:
  const Record* find(std::string_view id) const {
    const auto* found = by_id_.find(id);
    return found == nullptr ? nullptr : found->record.get();
  }
  void put(const std::string& id, Record record) {
    Slot& slot = by_id_[id];
    if (slot.record == nullptr) slot.order = next_++;
    slot.record = std::make_shared<const Record>(std::move(record));
  }
  // Puts it behind all others.
  void put_last(const std::string& id, Record record) { by_id_[id] = {next_++, std::make_shared<const Record>(std::move(record))}; }
  void erase(std::string_view id) { by_id_.erase(id); }
  // Replaces the record by what `change` made of a copy.
  template <typename Change>
  void update(const std::string& id, Change&& change) {
    Record copy = *find(id);
    change(copy);
    put(id, std::move(copy));
  }

  std::size_t size() const { return by_id_.size(); }
  bool empty() const { return by_id_.size() == 0; }
  // All of them, first come first, as (id, record).
  std::vector<std::pair<const std::string*, const Record*>> in_order() const;
  std::size_t bytes() const { return by_id_.bytes() + size() * sizeof(Record); }

  // For saving and loading (run_saved.cc).
  template <typename Io>
  void transfer(Io& io) {
    io(by_id_, next_);
  }

 private:
  struct Slot {
    std::uint64_t order = 0;
    std::shared_ptr<const Record> record;
    template <typename Io>
    void transfer(Io& io) {
      io(order, record);
    }
  };
  PMap<std::string, Slot> by_id_;
  std::uint64_t next_ = 0;
};

using TextSet = PMap<std::string, bool>;  // sorted bytewise

struct Thresholds {
  std::int64_t event_threshold = 18;
  std::int64_t n_step_fallback = 8;
  std::int64_t plain_bytes_threshold = 0;  // 0: off
  bool operator==(const Thresholds&) const = default;
};

// What RUN_STARTED declared.
struct Run {
  Pointer entry;
  std::uint64_t pos = 0;
  std::string objective;
  std::string done_definition;  // canonical JSON: of an object or a string
  bool quotes_checked = false;
  std::optional<std::string> policy_snapshot_ref;
  std::string budgets = "{}";  // canonical JSON
  bool require_manifests = true;
  std::optional<std::string> index_id, corpus_id;
};

struct Span {
  std::string unit;
  std::int64_t start = 0, end = 0;  // half-open
  bool operator==(const Span&) const = default;
  bool counts_bytes() const { return unit == "utf8"; }
};

struct Source {
  std::string title;
  std::optional<std::string> uri, blob, index_id, corpus_id;
  std::string sha256;
  std::int64_t bytes = 0;
  bool operator==(const Source&) const = default;
};

struct Chunk {
  std::string source_id;
  Span span;  // within the source
  std::string sha256;
  std::int64_t bytes = 0;
  std::optional<std::string> blob;
  bool delivered = false;
  bool operator==(const Chunk&) const = default;
};

struct Evidence {
  std::optional<std::string> index_id, corpus_id;
  std::string source_id, chunk_id;
  Span span;  // within the chunk
  std::string quote_sha256;
  std::int64_t quote_bytes = 0;
  bool operator==(const Evidence&) const = default;
};
// Who stands on a piece of evidence, so that withdrawing it finds them.
struct Citing {
  std::vector<std::string> claims, conflicts;
};

enum class ClaimStatus { candidate, verified, retracted };
std::string_view status_name(ClaimStatus status);

struct Claim {
  ClaimStatus status = ClaimStatus::candidate;
  std::string statement;
  std::string status_reason;
  std::vector<std::string> refs;       // evidence ids, in order of attaching
  std::vector<std::string> withdrawn;  // the same, of evidence that was withdrawn
  Pointer first_entry;
  std::optional<Pointer> verified_entry;
};

struct Conflict {
  std::string description;
  std::vector<std::string> side_a, side_b;  // evidence ids
  bool resolved = false;
  std::optional<std::string> resolution;
  Pointer first_entry;
};

struct Question {
  std::string text;
  Pointer entry;
};

enum class FailureStatus { active, resolved, superseded };
std::string_view status_name(FailureStatus status);

struct Failure {
  std::string category, where, why;
  FailureStatus status = FailureStatus::active;
  std::int64_t occurrence_count = 0;
  std::int64_t last_seen_step_id = 0;
  Pointer first_entry, last_entry;
};

// An illegal or contradictory event that was stored all the same. It blocks compaction until a person forgives it.
struct Anomaly {
  std::string text;  // without its place
  Pointer entry;
  bool ledger = false;  // a contradiction in the ledger, not an illegal step
};

struct Manifest {
  std::string id;
  std::uint64_t pos = 0;
  bool hashes = true;  // to its id
};
struct Retrieval {  // over the distinct manifests
  std::int64_t queries = 0, zero_result_queries = 0, candidates = 0, selected = 0, excluded = 0;
  TextSet filters;
  IdIndex ids;
};

// A step seen at a place: the first event of a step in a stretch between two compactions.
struct StepMark {
  std::int64_t step_id = 0;
  std::uint64_t pos = 0;
};

struct OpenStep {
  std::int64_t step_id = 0;
  Pointer entry;  // since when
};

// A snapshot that is in force from its entry on.
struct Accepted {
  std::string snapshot_id;
  std::int64_t sequence = 0;
  std::uint64_t last_pos = 0;
  Place first, last;  // what it covers
  Place first_after;  // the entry behind its cut
  Place holder;       // the compaction or SNAPSHOT_ATTACHED
};

struct NextActions {
  Pointer entry;
  std::vector<std::string> actions;
};

struct Stop {
  std::string stop_reason;
  std::string limit_type;
  std::optional<std::string> diagnostic;
  Pointer entry;
};

struct FailedAttempt {
  std::int64_t attempt = 0;
  std::string cut;  // an entry pointer
};

// ---- what every session carries (section 4 of the contract) ----

// A message's text as far as it is carried.
struct Text {
  std::string opening;      // whole code points up to kMostText bytes (of a text in a blob: of its preview)
  std::uint64_t bytes = 0;  // of all of it
  bool whole = true;        // `opening` is all of it
};

struct Request {
  Pointer entry;
  Text text;  // of earlier requests only kOpening bytes
};

struct SystemMessage {
  Pointer entry;
  Seq seq = 0;
  Text text;
};

struct Pin {
  Pointer entry;  // of the message
  Role role = Role::user;
  std::uint64_t bytes = 0;
  std::optional<std::string> verbatim;
};

struct File {
  std::int64_t reads = 0, changes = 0;
  std::optional<Pointer> last_read, last_change;
  std::string sha256;  // empty: unknown
};

struct Command {
  std::string tool, command;  // the command's first kOpening bytes
  std::uint64_t bytes = 0;
  std::int64_t runs = 0, errors = 0;
  Pointer last_entry;
};

struct Todo {
  std::string item, status;
};
struct Todos {
  Pointer entry;
  std::vector<Todo> items;
};

enum class ToolClass { other, read, write, edit, command, todo };

// A tool call that waits for its result.
struct Call {
  Pointer entry;
  std::string tool;
  ToolClass kind = ToolClass::other;
  std::vector<std::string> paths;
  std::optional<std::string> command_opening;
  std::string command_key;   // identifies tool and whole command
  std::string command_line;  // its first non-blank line, 120 code points
  std::uint64_t command_bytes = 0;
  std::string sha256;  // of what a write wrote; empty: unknown
  std::vector<Todo> todos;
  bool has_todos = false;
  std::uint64_t request = 0;  // number of the request it was made after
};

struct Carry {
  std::shared_ptr<const Request> first_request, latest_request, last_reply;  // null: none
  bool answered = false;
  std::uint64_t request_count = 0;  // of all requests
  Register<Request> requests;       // those before the latest, the last kMostListed of them, by number
  Register<SystemMessage> system;   // by the hash of their text
  PMap<std::uint64_t, bool> pins;   // seq of messages pinned by hand
  IdIndex messages;                 // entry id -> seq, of messages
  Register<File> files;             // least recently touched first
  Register<Command> commands;       // since the barrier, by last run
  std::shared_ptr<const Todos> todos;
  Register<Call> calls;  // without a result, by call id
  std::string cwd;
  PMap<std::string, ToolClass> tool_classes;  // names that session_info added
};

struct RunState {
  // So many maps are copied and destroyed in code that is compiled once, in the .cc.
  RunState();
  RunState(const RunState&);
  RunState(RunState&&) noexcept;
  RunState& operator=(const RunState&);
  RunState& operator=(RunState&&) noexcept;
  ~RunState();

  std::uint64_t pos = 0;       // entries so far
  std::optional<Place> first;  // the path's root
  std::optional<Place> cut;    // the last entry that is no COMPACTION_FAILED

  std::shared_ptr<const Run> run;  // null: a plain session
  Thresholds thresholds;

  std::int64_t step_id = 0;  // the current one, 0 before the first
  std::optional<OpenStep> open_step;
  PVec<StepMark> step_marks;
  IdIndex steps_with_manifest;  // by the step's number

  // Since the barrier.
  std::int64_t counted = 0, steps = 0;
  std::uint8_t step_types = 0;  // of the current step, those counted already
  std::uint64_t message_bytes = 0;
  bool counted_entries = false;  // ever, on the path

  std::optional<Place> barrier;
  std::optional<Place> bare_barrier;  // only while it has no snapshot and something would be lost
  Place barrier_first, barrier_last;  // what a snapshot of the barrier would cover
  Place barrier_first_after;          // the entry behind the cut that a snapshot of the barrier would have
  bool dirty = false;                 // run state changed since the last accepted cut
  bool dirty_since_barrier = false;
  PVec<Accepted> accepted;
  std::optional<FailedAttempt> failed;  // directly before, at this cut
  std::optional<Place> first_failed;    // the first COMPACTION_FAILED behind the cut

  std::optional<Stop> stop;
  std::shared_ptr<const std::vector<Anomaly>> anomalies;  // null: none

  Register<Claim> claims;
  Register<Source> sources;
  Register<Chunk> chunks;
  Register<Evidence> evidence;
  PMap<std::string, Citing> citing;
  Register<bool> withdrawn;  // evidence ids
  Register<Conflict> conflicts;
  Register<Question> open_questions;
  IdIndex question_ids;  // of all that were ever opened
  Register<Failure> failures;
  std::shared_ptr<const NextActions> next_actions;  // null: never set

  PVec<Manifest> manifests;
  Retrieval retrieval;
  TextSet source_ids_seen, chunk_ids_seen;

  Carry carry;

  const Accepted* last_accepted() const { return accepted.empty() ? nullptr : &accepted.back(); }
  bool has_request() const { return carry.latest_request != nullptr; }
};

template <typename Record>
std::vector<std::pair<const std::string*, const Record*>> Register<Record>::in_order() const {
  std::vector<std::pair<std::uint64_t, std::pair<const std::string*, const Record*>>> slots;
  slots.reserve(size());
  by_id_.each([&](const std::string& id, const Slot& slot) { slots.push_back({slot.order, {&id, slot.record.get()}}); });
  std::sort(slots.begin(), slots.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::pair<const std::string*, const Record*>> out;
  out.reserve(slots.size());
  for (const auto& slot : slots) out.push_back(slot.second);
  return out;
}

}  // namespace weir::compaction
