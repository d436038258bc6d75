// Files on which the k-th call fails: for loops that fail call 1, 2, 3 ... until everything passes.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/files.h"

namespace weir::testing {

enum class FileCall {
  open,
  read,
  stat,
  list,
  write_synced,
  write_new,
  sync_file_system,
  rename,
  sync_directory,
  make_directory,
  remove,
  change_mode,
  percent_full
};

class FaultFiles : public Files {
 public:
  explicit FaultFiles(Files& files = system_files()) : files_(files) {}

  enum class Lasting { once, for_ever };
  // From now on the k-th call (from 1), or the k-th of one kind, fails with STORAGE and EIO; what it should have done is
  // not done, but a failed write_synced leaves half of the bytes behind.
  void fail(std::uint64_t k, Lasting lasting, std::optional<FileCall> kind = std::nullopt);
  void work();  // no call fails any more

  bool failed() const { return failed_; }         // since the last fail()
  std::uint64_t calls() const { return calls_; }  // since the last fail() or work(); of the kind, if one was given
  void pretend_percent_full(int percent) { percent_full_ = percent; }

  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override;
  Result<FileStat> stat(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& directory) override;
  Result<void> write_synced(const std::string& path, std::string_view bytes) override;
  Result<void> write_new(const std::string& path, std::string_view bytes) override;
  Result<void> sync_file_system(const std::string& path) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> sync_directory(const std::string& path) override;
  Result<void> make_directory(const std::string& path) override;
  Result<void> remove(const std::string& path) override;
  Result<void> change_mode(const std::string& path, unsigned mode) override;
  Result<int> percent_full(const std::string& path) override;

 private:
  class File;
  // An error if it is this call's turn.
  Result<void> turn(FileCall kind, const std::string& path);

  Files& files_;
  std::uint64_t k_ = 0;  // 0: none
  Lasting lasting_ = Lasting::once;
  std::optional<FileCall> kind_;
  std::uint64_t calls_ = 0;
  bool failed_ = false;
  std::optional<int> percent_full_;
};

}  // namespace weir::testing
