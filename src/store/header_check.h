// What the first bytes of weir.db say before SQLite reads them. A flipped bit there makes it say that a file is no database, or
// may only be read; neither names damage.
#pragma once

#include <optional>
#include <string>

#include "base/files.h"
#include "base/result.h"

namespace weir {

struct DatabaseHeader {
  bool ours = true;                   // it has the number of a store
  std::optional<std::string> damage;  // that keeps the file from being written, for people
};

// Opens and closes the file, so it is only to be called while this process does not have the database open (store/wal_check.h).
Result<DatabaseHeader> check_header(Files& files, const std::string& database);

}  // namespace weir
