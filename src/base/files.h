// The third door: files. Everything Weir does with files outside SQLite goes through here, so that tests can make any
// call fail. Files are made 0600 and directories 0700 whatever the umask. Errors: NOT_FOUND where the path does not
// exist, STORAGE with errno for everything else.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weir {

struct FileStat {
  enum class Kind { regular, directory, other };
  Kind kind = Kind::other;
  std::uint64_t size = 0;
  std::uint64_t device = 0, inode = 0;
  std::uint64_t links = 1;  // names of the file
  unsigned mode = 0;        // permission bits
  unsigned uid = 0;
  std::int64_t modified_ms = 0;
};

// A file opened for reading from the front.
class ReadableFile {
 public:
  virtual ~ReadableFile() = default;
  virtual Result<std::size_t> read(char* buffer, std::size_t size) = 0;  // 0 at the end
  virtual Result<void> seek(std::uint64_t offset) = 0;
  virtual Result<FileStat> stat() = 0;
};

class Files {
 public:
  virtual ~Files() = default;

  virtual Result<std::unique_ptr<ReadableFile>> open(const std::string& path) = 0;
  virtual Result<FileStat> stat(const std::string& path) = 0;                       // does not follow a final link
  virtual Result<std::vector<std::string>> list(const std::string& directory) = 0;  // names, sorted

  // Makes `path` (which must not exist), writes and fsyncs it.
  virtual Result<void> write_synced(const std::string& path, std::string_view bytes) = 0;
  // The same without the fsync: for a batch that sync_file_system makes durable as a whole.
  virtual Result<void> write_new(const std::string& path, std::string_view bytes) = 0;
  virtual Result<void> sync_file_system(const std::string& path) = 0;  // the one `path` lies on
  virtual Result<void> rename(const std::string& from, const std::string& to) = 0;
  virtual Result<void> sync_directory(const std::string& path) = 0;
  virtual Result<void> make_directory(const std::string& path) = 0;  // also if it is there already; its parent must be
  virtual Result<void> remove(const std::string& path) = 0;
  virtual Result<void> change_mode(const std::string& path, unsigned mode) = 0;
  virtual Result<int> percent_full(const std::string& path) = 0;  // of the file system, as an ordinary user sees it

  // Whole file; LIMIT_EXCEEDED above `most` bytes.
  Result<std::string> read(const std::string& path, std::size_t most);
  // Makes every missing directory of `path`, each synced into the one above it.
  Result<void> make_directories(const std::string& path);
};

Files& system_files();

// STORAGE with errno and what was tried.
Error storage_error(std::string_view what, const std::string& path, int error);

}  // namespace weir
