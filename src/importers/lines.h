// Lines of a file as a stream: bounded memory, the offset after each line, and a running hash of all that was taken.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/sha256.h"

namespace weir {

class LineReader {
 public:
  // Starts at `offset`, with the hash of what stands before it.
  LineReader(ReadableFile& file, std::uint64_t offset, Sha256 before) : file_(file), taken_(offset), hash_(std::move(before)) {}

  struct Line {
    std::string_view text;  // without its line feed; valid until the next call
    bool complete = false;  // it ended with a line feed
    bool last = false;      // nothing follows it at the moment
  };
  // Nothing at the end. LIMIT_EXCEEDED for a line over the limit.
  Result<std::optional<Line>> next();

  // The line read last is done with: it counts into offset and hash.
  void take();
  std::uint64_t offset() const { return taken_; }
  const Sha256& hash() const { return hash_; }

 private:
  Result<bool> fill();  // false at the end of the file

  ReadableFile& file_;
  std::uint64_t taken_;
  Sha256 hash_;
  std::string buffer_;
  std::size_t begin_ = 0, end_ = 0;  // unread part of the buffer
  std::size_t line_bytes_ = 0;       // of the line read last, line feed included
};

// Without the white space around it that JSON allows.
std::string_view trimmed_line(std::string_view text);

}  // namespace weir
