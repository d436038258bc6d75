// Use cases that look after a store: verify, backup, stats, doctor.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "json/value.h"
#include "service/service.h"
#include "store/verify.h"

namespace weir {

// verify, with the versions of files that reads speak of.
Result<VerifyReport> verify_store(Store& store, VerifyOptions options, FunctionRef<bool(const VerifyProgress&)> progress);

// The same, and what stands on a sound log: manifests, saved nodes, snapshots. NOT_FOUND for a session that is not there.
Result<VerifyReport> verify_all(Service& service, const VerifyOptions& options, FunctionRef<bool(const VerifyProgress&)> progress);

// {"type",...}: `type` is damage, or note for what could not be checked.
json::Value finding_json(std::string_view type, const Finding& finding, json::Arena& arena);
// {"type":"summary",...}
json::Value summary_json(const VerifyReport& report, json::Arena& arena);

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

  std::uint64_t tokens() const;  // estimated
  json::Value to_json(json::Arena& arena) const;
};
Result<StatsAnswer> session_stats(Service& service, const Address& address);

// The same of a whole store, as far as it can be said without walking its sessions.
struct StoreStats {
  std::uint64_t sessions = 0, entries = 0;
  MaskCounts masked;
  std::uint64_t database_bytes = 0, object_bytes = 0, objects = 0;
  json::Value to_json(json::Arena& arena) const;
};
Result<StoreStats> store_stats(Service& service);

struct DoctorCheck {
  std::string name;
  bool ok = false;
  std::string detail;
  std::string fix;  // what to do, or what was done
};
// Looks at a store without opening it for writing. With `fix`, mends modes.
std::vector<DoctorCheck> examine(const std::string& directory, Durability durability, Doors doors, bool fix);

}  // namespace weir
