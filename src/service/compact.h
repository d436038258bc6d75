// Use case: compact a session. Build a snapshot, hold it to its checks, make it the barrier; or, if it fails twice, stop the run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compaction/validate.h"
#include "json/value.h"
#include "service/service.h"
#include "session/append.h"

namespace weir {

struct CompactRequest {
  SessionId session;
  HeadName head;
  std::optional<Expect> expect;
  bool if_due = false;                     // nothing is done unless it is due
  bool dry_run = false;                    // built and checked once; nothing is appended
  std::optional<std::uint64_t> max_bytes;  // of the narrative; 0: no bound
  std::string reason;                      // the trigger if none is due: `egress`, `manual`; empty: manual
  std::optional<std::string> first_kept;   // with these a host compacts
  std::optional<std::int64_t> tokens_before;
  bool people = false;  // may entries be named as people do?
};

struct CompactAnswer {
  bool pass = true;
  compaction::Action action = compaction::Action::none;
  bool already = false;
  int attempts = 1;
  std::string snapshot_id, entry, narrative;  // empty: there is none
  std::int64_t sequence = 0;
  std::vector<compaction::Check> failed;
  bool run = false;
  bool due = true;  // false: `if_due`, and it is not
  std::optional<std::string> diagnostic;
  std::vector<std::string> advice;

  json::Value to_json(json::Arena& arena) const;
};

// RUN_STOPPED, NOT_AT_BOUNDARY, NOTHING_TO_COMPACT, CONFLICT; GATE_FAILED after the second attempt.
Result<CompactAnswer> compact(Service& service, const CompactRequest& request);

// What a compaction would say of a snapshot cut at `cut`, where `state` is the run: nothing that `state` holds is read again. For
// whoever is about to store that entry. The state has a cut, and a run or a request.
Result<compaction::Verdict> verdict_on(Service& service, LogReader& reader, const SessionRow& session,
                                       std::shared_ptr<const compaction::RunState> state, Entry cut, Blobs& blobs);

// Gives the nearest bare barrier (`entry` empty, or naming it) a snapshot that is cut at its parent.
struct AttachRequest {
  SessionId session;
  HeadName head;
  std::string entry;
  std::optional<std::uint64_t> max_bytes;
  bool dry_run = false;
  bool people = false;
};
Result<CompactAnswer> attach_snapshot(Service& service, const AttachRequest& request);

// For a host's compaction that claims to hold Weir's dry run: the body with the snapshot in it where it can be rebuilt under
// the parent with that id, else with `snapshot_mismatch`.
Result<json::Value> with_host_snapshot(Service& service, LogReader& reader, const SessionRow& session, Seq parent, const json::Value& body,
                                       std::string_view snapshot_id, Blobs& blobs, json::Arena& arena);

}  // namespace weir
