// Use cases around snapshots that are there or come from elsewhere: list, show, check, render, verify.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compaction/validate.h"
#include "service/replay.h"
#include "service/service.h"
#include "store/verify.h"

namespace weir {

// What a compaction or SNAPSHOT_ATTACHED that somebody sends becomes at `state`, the run where it would go: its snapshot has
// passed every check and is in stored form, its narrative is what it renders to. GATE_FAILED.
Result<json::Value> checked_snapshot_body(Service& service, LogReader& reader, const SessionRow& session, const compaction::RunState& state,
                                          std::string_view type, const json::Value& body, Blobs& blobs, json::Arena& arena);

// The member of a body that holds a snapshot: all of it, or, if it is large, the name of its blob. Points into `stored_text`.
Result<json::Value> snapshot_member(const std::string& stored_text, std::string_view id, std::int64_t sequence, std::uint64_t last_pos,
                                    FunctionRef<Result<void>(std::string_view)> keep, json::Arena& arena);

// GATE_FAILED with the failed checks among its details. `diagnostic` empty: `snapshot fails 2 checks; first: ...`.
Error gate_failed(const std::vector<const compaction::Check*>& failed, std::string diagnostic = "");

struct SnapshotRow {
  compaction::Accepted accepted;
  TimeMs at;
  bool attached = false;
};
Result<std::vector<SnapshotRow>> list_snapshots(Service& service, const Address& address);
json::Value snapshot_row_json(const SnapshotRow& row, json::Arena& arena);

// Which snapshot of a path: its number, its id (or a prefix of at least 8 characters), or the entry that holds it; `last`.
struct ShownSnapshot {
  std::unique_ptr<StoredSnapshot> snapshot;
  json::Value shown;
  SnapshotRow row;
};
Result<ShownSnapshot> show_snapshot(Service& service, const Address& address, std::string_view which);

// The narrative of one, within a bound (0: none) or as it was stored (nothing given). BUDGET_TOO_SMALL.
Result<std::string> snapshot_narrative(Service& service, const Address& address, std::string_view which,
                                       std::optional<std::uint64_t> max_bytes);

// Any bytes in, a verdict out. The session is the one given, else the one the bytes name.
Result<compaction::Verdict> check_snapshot(Service& service, std::string_view bytes, const std::optional<SessionId>& session,
                                           const HeadName& head);

// Adds to the report of a sound log the snapshots that do not hold, each replayed from the root in one walk over its session.
Result<void> verify_snapshots(Service& service, const std::string& only, VerifyReport& report);

}  // namespace weir
