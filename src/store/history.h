// Searching a session's entries, all branches, newest first: by an index where there is one, else by reading. Both give
// the same answer. The index is made on first use and then brought up to the log by whoever searches; appends pay nothing.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"
#include "store/history_index.h"
#include "store/history_query.h"
#include "store/store.h"

namespace weir {

// Where a store keeps its indexes.
inline constexpr std::string_view kHistoryDirectory = "history";

struct HistoryProgress {
  std::uint64_t done = 0, total = 0, bytes = 0;  // entries, entries, bytes of bodies
  bool indexing = false;
};
using HistoryWatch = FunctionRef<bool(const HistoryProgress&)>;  // false: stop (CANCELLED)

// The session's index, brought up to the log but for a few entries; null if reading is as good or none can be had: a
// store in memory, a short session, a place that cannot be written. Errors are only what stops a search altogether.
Result<std::unique_ptr<HistoryIndex>> open_history(Store& store, const SessionRow& session, HistoryWatch watch);

struct HistoryScope {
  Seq first = 1, last = 0;
  std::vector<std::string> types;  // empty: all
};
// Calls `visit` with each entry of the scope that matches, until it answers false. `wanted` is asked before an entry is
// read. If it fails and index->failed(), the search can be done again without the index.
Result<void> search_history(Store& store, LogReader& reader, SessionNo session, HistoryIndex* index, HistoryQuery& query,
                            const HistoryScope& scope, FunctionRef<bool(Seq)> wanted, HistoryWatch watch,
                            FunctionRef<Result<bool>(const Entry&, Excerpt&)> visit);

// What the index of a session knows goes. Nothing there is no error.
Result<void> remove_history(Store& store, SessionNo session);
// All indexes but those of these sessions.
Result<void> remove_history_but(Store& store, const std::vector<SessionRow>& sessions);

}  // namespace weir
