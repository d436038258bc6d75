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

json::Value finding_json(const Finding& finding, json::Arena& arena);

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
