// SQLite's way to files, recorded: while one of these is there every new connection of the process goes through it, and
// what it does under the recorder's root is written down.
#pragma once

#include <memory>

#include "testing/crash_disk.h"

namespace weir::testing {

class CrashVfs {
 public:
  explicit CrashVfs(DiskRecorder& disk);
  ~CrashVfs();
  CrashVfs(const CrashVfs&) = delete;
  CrashVfs& operator=(const CrashVfs&) = delete;

 private:
  struct Vfs;
  std::unique_ptr<Vfs> vfs_;
};

}  // namespace weir::testing
