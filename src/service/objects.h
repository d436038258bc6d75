// Use cases that remove objects: gc and purge; and which objects a log speaks of.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "base/function_ref.h"
#include "service/service.h"

namespace weir {

// What the entries of some sessions say of objects.
struct Mentions {
  std::set<Digest> needed;            // by an entry's body
  std::map<Digest, TimeMs> versions;  // of files that were read, and when last: worth keeping, and not needed
};
Result<Mentions> mentions(LogReader& reader, FunctionRef<bool(const SessionRow&)> wanted, FunctionRef<bool(std::uint64_t)> progress);

// CORRUPT if rows hang in the air or the tables are damaged: what nobody can find names objects too, so of such a log nothing is
// taken away for good. `spared`, for people: what was left.
Result<void> refuse_damaged(Log& log, std::string_view spared);

struct GcAnswer {
  std::uint64_t objects = 0, bytes = 0, temporary = 0;  // removed
  std::uint64_t kept_bytes = 0;                         // of versions of files that stay
};
// Removes objects nothing speaks of, temporary files left by a crash, and, while versions of files take more than their
// budget, those that no head can be asked about, the one used longest ago first.
Result<GcAnswer> collect_garbage(Service& service, bool dry_run, FunctionRef<bool(std::uint64_t)> progress);

// A purge that could not be finished, because somebody read what was to go, is.
Result<void> finish_purges(Service& service);

struct PurgeAnswer {
  std::uint64_t entries = 0, objects = 0;
};
// The session, every row, and every object only it speaks of; what was there is overwritten on disk. A record of the purge
// stays: a hash of its id, how many entries it had, the digest of the last one, and when.
Result<PurgeAnswer> purge_session(Service& service, const SessionId& session, bool dry_run);
// One blob's bytes; entries keep its name, and verify calls it purged.
Result<PurgeAnswer> purge_blob(Service& service, const Digest& digest, bool vacuum, bool dry_run);

}  // namespace weir
