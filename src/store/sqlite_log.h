// The log in one SQLite file in WAL mode. One connection writes, callers in other threads share its commits; readers
// have connections of their own and never wait for the writer. Several processes may use one file.
#pragma once

#include <memory>
#include <string>

#include "store/log.h"

namespace weir {

enum class Durability {
  full,    // acknowledged means synced
  normal,  // a power cut may lose the last acknowledged entries; never damages
};

struct SqliteOptions {
  Durability durability = Durability::full;
  int busy_timeout_ms = 10000;
  bool leave_wal_index = false;  // for Access::read: the index of a damaged write-ahead log is evidence
  bool examine = false;          // for Access::read: open it even if its tables were altered
  bool unread = false;           // for Access::read: what cannot be read is said when it is read, and by check_structure
};

class SqliteLog final : public Log {
 public:
  enum class Access { read, write };

  // The file must be there. Access::write migrates it; Access::read refuses what would have to be migrated.
  static Result<std::unique_ptr<SqliteLog>> open(const std::string& path, Access access, SqliteOptions options);
  ~SqliteLog() override;

  Result<void> read(FunctionRef<Result<void>(LogReader&)> body) override;
  Result<void> write(FunctionRef<Result<void>(LogTxn&)> body, Grouping grouping) override;
  Result<void> try_write(FunctionRef<Result<void>(LogTxn&)> body) override;
  Result<std::uint64_t> version() override;
  Result<std::vector<Finding>> check_structure(bool quick) override;

  // A sync failed: nothing is acknowledged any more through this object.
  bool poisoned() const;
  // Copies the file as it is now, while others write.
  Result<void> backup_to(const std::string& path);
  // Writes everything into the main file and empties the WAL; with `vacuum`, rewrites the file without free pages. BUSY
  // if somebody reads for longer than the timeout.
  Result<void> compact(bool vacuum);
  // Overwrites what is deleted from now on with zeros.
  Result<void> secure_delete();

 private:
  class Impl;
  explicit SqliteLog(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir
