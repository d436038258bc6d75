// A file that the user named for a command's output.
#pragma once

#include <string>
#include <string_view>

#include "base/doors.h"
#include "base/files.h"

namespace weir::cli {

// INVALID_FIELD if it is a directory: asked before the work is done.
Result<void> check_output(const std::string& path);

// Bytes on their way into it. A regular file, or one that is not there yet, is replaced whole or not at all, behind a link too.
// What is no regular file (a FIFO, a device) is written to as the bytes come.
class OutputFile {
 public:
  static Result<OutputFile> open(Files& files, Random& random, const std::string& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();  // without finish: a file that was begun is taken away again

  Result<void> add(std::string_view bytes);
  Result<void> finish();

 private:
  OutputFile(Files& files, std::string path, std::string target, int fd)
      : files_(files), path_(std::move(path)), target_(std::move(target)), fd_(fd) {}
  Result<void> flush();

  Files& files_;
  const std::string path_;    // what is written
  const std::string target_;  // what it becomes; empty: it stays what it is
  int fd_;
  std::string waiting_;
};

}  // namespace weir::cli
