// The path from a root to an entry. It is mostly a run of neighbouring rows, so it is read in long scans.
#pragma once

#include <vector>

#include "base/function_ref.h"
#include "store/log.h"

namespace weir {

// For who looked a session up earlier and now misses one of its entries: NOT_FOUND if it was purged since, else CORRUPT.
Error missing_entry(LogReader& reader, SessionNo session, Seq seq);

// From the entry towards its root, until `visit` answers false.
Result<void> walk_back(LogReader& reader, SessionNo session, Seq from, Columns columns, FunctionRef<Result<bool>(Entry&)> visit);

// The entries with these rising seqs, in that order, until `visit` answers false.
Result<void> walk(LogReader& reader, SessionNo session, const std::vector<Seq>& seqs, Columns columns,
                  FunctionRef<Result<bool>(Entry&)> visit);

// All of the path to `leaf`, root first; empty for 0.
Result<std::vector<Seq>> path_to(LogReader& reader, SessionNo session, Seq leaf);

// The nearest compaction on the path to the entry, itself included; 0 if there is none.
Result<Seq> barrier_at(LogReader& reader, SessionNo session, Seq seq);

}  // namespace weir
