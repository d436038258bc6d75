// Has the write-ahead log lost commits to damage? SQLite takes the first frame that does not check for the log's end:
// right after a power cut, which can only tear what nobody was told is durable, but after damage everything behind that
// frame is gone in silence. Two witnesses tell the cases apart: the log's index (-shm), which names the last frame only
// once it is synced, and whole commits behind the broken one.
#pragma once

#include <optional>
#include <string>

#include "base/files.h"
#include "base/result.h"

namespace weir {

// What was lost, for people; nothing if the log is sound or torn as a power cut tears it. `commits_synced` says that no
// commit was acknowledged before it was synced; without that only a damaged header can be told from a power cut.
//
// Opens and closes files of the database, which drops every lock this process has on them: only to be called while this
// process does not have the database open.
Result<std::optional<std::string>> find_wal_damage(Files& files, const std::string& database, bool commits_synced);

}  // namespace weir
