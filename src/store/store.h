// A store: a directory with weir.db and objects/, or the same in memory. Opening one checks that it is ours to use.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/doors.h"
#include "base/files.h"
#include "base/result.h"
#include "store/blobs.h"
#include "store/log.h"
#include "store/sqlite_log.h"

namespace weir {

struct DatabaseHeader;

// The doors a store and everything above it use.
struct Doors {
  Files& files = system_files();
  Clock& clock = system_clock();
  Random& random = system_random();
};

class Store {
 public:
  enum class Access {
    read,     // must be there; nothing is changed
    write,    // made if it is missing
    examine,  // as read, and also where commits are lost: to verify it, and to save what can be read
  };
  // STORE_UNUSABLE: none there (read), another user's, writable by others, newer, or no store at all. CORRUPT: commits
  // that were acknowledged are lost to damage, and opening the store would make the loss look like none; or the database says that
  // it is a store and cannot be read (to examine it, it is opened all the same).
  static Result<std::unique_ptr<Store>> open(const std::string& directory, Access access, SqliteOptions options, Doors doors);
  static std::unique_ptr<Store> in_memory(Doors doors);

  Log& log() { return *log_; }
  Blobs& blobs() { return *blobs_; }
  const Doors& doors() const { return doors_; }
  const std::string& directory() const { return directory_; }  // empty in memory
  SqliteLog* sqlite() { return sqlite_; }                      // null in memory

  // STORAGE once a sync failed or the disk is nearly full: asked before anything is written.
  Result<void> writable();
  // After a failed sync, so that the next one to open the store verifies it first.
  void leave_suspect_mark();
  bool suspect() const { return suspect_; }
  Result<void> clear_suspect_mark();

  // What Access::examine found before SQLite had a look.
  const std::vector<Finding>& findings_at_open() const { return findings_at_open_; }

  // On disk: of the database's files, and of those with the objects.
  std::uint64_t database_bytes();
  Result<std::uint64_t> bytes();

 private:
  class Presence;
  explicit Store(Doors doors) : doors_(doors) {}
  Result<void> meet_header(const DatabaseHeader& header, Access access);

  Doors doors_;
  std::string directory_;
  std::shared_ptr<const Presence> presence_;  // goes after log_
  std::unique_ptr<Log> log_;
  std::unique_ptr<Blobs> blobs_;
  SqliteLog* sqlite_ = nullptr;
  bool suspect_ = false;
  std::vector<Finding> findings_at_open_;
};

}  // namespace weir
