#include "testing/fault_files.h"

#include <cerrno>

namespace weir::testing {

class FaultFiles::File final : public ReadableFile {
 public:
  File(FaultFiles& files, std::unique_ptr<ReadableFile> file, std::string path)
      : files_(files), file_(std::move(file)), path_(std::move(path)) {}

  Result<std::size_t> read(char* buffer, std::size_t size) override {
    TRY_DO(files_.turn(FileCall::read, path_));
    return file_->read(buffer, size);
  }
  Result<void> seek(std::uint64_t offset) override { return file_->seek(offset); }
  Result<FileStat> stat() override {
    TRY_DO(files_.turn(FileCall::stat, path_));
    return file_->stat();
  }

 private:
  FaultFiles& files_;
  std::unique_ptr<ReadableFile> file_;
  std::string path_;
};

void FaultFiles::fail(std::uint64_t k, Lasting lasting, std::optional<FileCall> kind) {
  k_ = k;
  lasting_ = lasting;
  kind_ = kind;
  calls_ = 0;
  failed_ = false;
}

void FaultFiles::work() {
  k_ = 0;
  kind_.reset();
  calls_ = 0;
}

Result<void> FaultFiles::turn(FileCall kind, const std::string& path) {
  if (kind_ && *kind_ != kind) return {};
  ++calls_;
  if (k_ == 0 || calls_ < k_ || (calls_ > k_ && lasting_ == Lasting::once)) return {};
  failed_ = true;
  return storage_error("made to fail:", path, EIO);
}

Result<std::unique_ptr<ReadableFile>> FaultFiles::open(const std::string& path) {
  TRY_DO(turn(FileCall::open, path));
  TRY(auto file, files_.open(path));
  return std::unique_ptr<ReadableFile>(new File(*this, std::move(file), path));
}

Result<FileStat> FaultFiles::stat(const std::string& path) {
  TRY_DO(turn(FileCall::stat, path));
  return files_.stat(path);
}

Result<std::vector<std::string>> FaultFiles::list(const std::string& directory) {
  TRY_DO(turn(FileCall::list, directory));
  return files_.list(directory);
}

Result<void> FaultFiles::write_synced(const std::string& path, std::string_view bytes) {
  auto mine = turn(FileCall::write_synced, path);
  if (mine.ok()) return files_.write_synced(path, bytes);
  if (auto half = files_.write_synced(path, bytes.substr(0, bytes.size() / 2)); !half.ok()) return half;
  return mine;
}

Result<void> FaultFiles::write_new(const std::string& path, std::string_view bytes) {
  auto mine = turn(FileCall::write_new, path);
  if (mine.ok()) return files_.write_new(path, bytes);
  if (auto half = files_.write_new(path, bytes.substr(0, bytes.size() / 2)); !half.ok()) return half;
  return mine;
}

Result<void> FaultFiles::sync_file_system(const std::string& path) {
  TRY_DO(turn(FileCall::sync_file_system, path));
  return files_.sync_file_system(path);
}

Result<void> FaultFiles::rename(const std::string& from, const std::string& to) {
  TRY_DO(turn(FileCall::rename, from));
  return files_.rename(from, to);
}

Result<void> FaultFiles::sync_directory(const std::string& path) {
  TRY_DO(turn(FileCall::sync_directory, path));
  return files_.sync_directory(path);
}

Result<void> FaultFiles::make_directory(const std::string& path) {
  TRY_DO(turn(FileCall::make_directory, path));
  return files_.make_directory(path);
}

Result<void> FaultFiles::remove(const std::string& path) {
  TRY_DO(turn(FileCall::remove, path));
  return files_.remove(path);
}

Result<void> FaultFiles::change_mode(const std::string& path, unsigned mode) {
  TRY_DO(turn(FileCall::change_mode, path));
  return files_.change_mode(path, mode);
}

Result<int> FaultFiles::percent_full(const std::string& path) {
  TRY_DO(turn(FileCall::percent_full, path));
  if (percent_full_) return *percent_full_;
  return files_.percent_full(path);
}

}  // namespace weir::testing
