// Re-reads a store and names every damaged place: the database's structure, row seals, parents, derived columns, the
// chain of digests, heads, and blobs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"
#include "store/log.h"
#include "store/store.h"

namespace weir {

struct VerifyOptions {
  bool quick = false;        // rows, parents and heads; no body or blob is re-hashed
  double sample = 1.0;       // share of bodies and blobs that are re-hashed
  std::string only_session;  // empty: all
  // An object that the entry speaks of without needing it: it may be missing, but must not be damaged.
  std::function<std::optional<Digest>(const Entry&)> spare = nullptr;
};

using Sessions = std::map<std::string, SessionNo, std::less<>>;

struct VerifyReport {
  std::uint64_t sessions = 0, entries = 0, bytes = 0, blobs = 0, purged = 0;
  std::vector<Finding> findings;
  std::vector<Finding> notes;  // what this version cannot check; no damage
  Sessions sessions_seen;      // when verify began
};

struct VerifyProgress {
  std::uint64_t entries = 0, bytes = 0;
};

// Whose rows can be read, by id.
Result<Sessions> sessions_by_id(LogReader& reader);
// Takes out what was found of sessions that were there before and are not now: they were purged meanwhile, and whoever
// looked at them saw some of it gone.
void drop_purged(const Sessions& before, const Sessions& now, std::vector<Finding>& findings);

// An Error means verify itself could not go on; damage is in the report. `progress` answers false to stop (CANCELLED).
Result<VerifyReport> verify(Store& store, const VerifyOptions& options, FunctionRef<bool(const VerifyProgress&)> progress);

}  // namespace weir
