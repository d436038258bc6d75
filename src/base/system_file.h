// File descriptors, for the code behind the Files door and nobody else.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <string>
#include <utility>

#include "base/files.h"

namespace weir {

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd();

  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }

 private:
  int fd_;
};

FileStat to_file_stat(const struct stat& st);

// `path` is for messages.
std::unique_ptr<ReadableFile> system_file(Fd fd, std::string path);

}  // namespace weir
