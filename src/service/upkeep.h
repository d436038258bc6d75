// Use cases that look after a store: verify, gc, purge, backup, stats, doctor.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "json/value.h"
#include "service/service.h"
#include "store/verify.h"

namespace weir {

json::Value finding_json(const Finding& finding, json::Arena& arena);

struct GcAnswer {
  std::uint64_t objects = 0, bytes = 0, temporary = 0;
};
// Removes objects nothing refers to and temporary files left by a crash.
Result<GcAnswer> collect_garbage(Service& service, bool dry_run, FunctionRef<bool(std::uint64_t)> progress);

struct PurgeAnswer {
  std::uint64_t entries = 0, objects = 0;
};
// The session, every row, and every object only it refers to; what was there is overwritten on disk.
Result<PurgeAnswer> purge_session(Service& service, const SessionId& session, bool dry_run);
// One blob's bytes; entries keep its name, and verify calls it purged.
Result<PurgeAnswer> purge_blob(Service& service, const Digest& digest, bool vacuum, bool dry_run);

struct BackupAnswer {
  std::string directory;
  std::uint64_t sessions = 0, entries = 0, objects = 0, bytes = 0;
};
// A consistent copy of the store while others write, verified before this returns. The directory must not exist, or be empty.
Result<BackupAnswer> back_up(Service& service, const std::string& directory, FunctionRef<bool(const VerifyProgress&)> progress);

struct StatsAnswer {
  SessionId session;
  StatsFold::State path;          // of the path to the head
  std::uint64_t all_entries = 0;  // branches included
  MaskCounts masked;
  std::uint64_t database_bytes = 0, object_bytes = 0, objects = 0;  // of the whole store
};
Result<StatsAnswer> session_stats(Service& service, const Address& address);

struct DoctorCheck {
  std::string name;
  bool ok = false;
  std::string detail;
  std::string fix;  // what to do, or what was done
};
// Looks at a store without opening it for writing. With `fix`, mends modes.
std::vector<DoctorCheck> examine(const std::string& directory, Durability durability, Doors doors, bool fix);

}  // namespace weir
