// A disk that remembers what was done to the files under one directory, in order, and can say what a power cut after any
// of it could have left. Data lasts once its file was synced, names once their directory was.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "testing/doors.h"

namespace weir::testing {

struct DiskEvent {
  enum class Kind { create, write, truncate, sync, remove, rename, make_directory, sync_directory, acknowledge };
  Kind kind;
  std::string path;          // under the root; of an acknowledgement: what was acknowledged
  std::uint64_t offset = 0;  // of a write; the new size of a truncate
  std::string bytes;         // written; of a rename: the new path
};

class DiskRecorder {
 public:
  explicit DiskRecorder(std::string root) : root_(std::move(root)) {}

  const std::string& root() const { return root_; }
  // What is done elsewhere is not its business.
  void record(DiskEvent::Kind kind, std::string_view path, std::uint64_t offset = 0, std::string_view bytes = {});
  void rename(std::string_view from, std::string_view to);
  void acknowledge(std::string what);
  const std::vector<DiskEvent>& events() const { return events_; }

 private:
  std::optional<std::string> below_root(std::string_view path) const;

  const std::string root_;
  std::mutex mutex_;  // events_
  std::vector<DiskEvent> events_;
};

// The files door of a program whose disk is recorded.
class RecordedFiles final : public Files {
 public:
  explicit RecordedFiles(DiskRecorder& disk, Files& files = system_files()) : disk_(disk), files_(files) {}

  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override { return files_.open(path); }
  Result<FileStat> stat(const std::string& path) override { return files_.stat(path); }
  Result<std::vector<std::string>> list(const std::string& directory) override { return files_.list(directory); }
  Result<void> write_synced(const std::string& path, std::string_view bytes) override;
  Result<void> write_new(const std::string& path, std::string_view bytes) override;
  Result<void> sync_file_system(const std::string& path) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> sync_directory(const std::string& path) override;
  Result<void> make_directory(const std::string& path) override;
  Result<void> remove(const std::string& path) override;
  Result<void> change_mode(const std::string& path, unsigned mode) override { return files_.change_mode(path, mode); }
  Result<int> percent_full(const std::string& path) override { return files_.percent_full(path); }

 private:
  DiskRecorder& disk_;
  Files& files_;
  std::vector<std::string> unsynced_;
};

class DiskModel {
 public:
  DiskModel();
  DiskModel(const DiskModel& other);  // a disk of its own
  DiskModel& operator=(const DiskModel&) = delete;
  ~DiskModel();

  void apply(const DiskEvent& event);

  enum class Cut {
    synced,   // only what was synced, names and data
    names,    // every name, and the data that was synced
    zeros,    // every name and size; grown parts that were not synced read as zeros
    torn,     // everything but the second half of each file's last unsynced write
    sectors,  // every name or the synced ones, and some of the unsynced 512-byte sectors
    nothing,  // everything: what a killed process leaves
  };
  // Bytes by path; nothing for a directory.
  using Image = std::map<std::string, std::optional<std::string>>;
  Image after(Cut cut, SeededRandom& random) const;

  static void write_out(const Image& image, const std::string& directory);

 private:
  struct Node;
  using NodePointer = std::shared_ptr<Node>;
  static NodePointer copy(const NodePointer& node, std::map<const Node*, NodePointer>& copies);
  NodePointer find(std::string_view path) const;
  std::pair<NodePointer, std::string> parent(std::string_view path) const;

  NodePointer root_;
};

}  // namespace weir::testing
