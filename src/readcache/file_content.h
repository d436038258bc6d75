// One read of one file: a single pass whose bytes feed the hash, the UTF-8 check, the line counter and the text alike, so
// that they cannot speak of different contents. Memory is bounded by the limits, never by the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/files.h"
#include "base/limits.h"
#include "base/sha256.h"
#include "readcache/line_window.h"

namespace weir {

struct ContentLimits {
  std::uint64_t max_file_bytes = 256 * limits::kMiB;
  std::uint64_t store_max_bytes = 8 * limits::kMiB;  // up to here the whole text is kept
  std::uint64_t max_bytes = 50 * limits::kKiB;       // of one answer
};

struct TextContent {
  Digest version;  // SHA-256 of the bytes that were read
  std::uint64_t bytes = 0;
  Selection selection;              // its head is as long as one answer can need: max_bytes + 1
  std::optional<std::string> text;  // the whole file
};

struct NotText {
  std::string_view mime;
  std::uint64_t bytes = 0;
};

using FileContent = std::variant<TextContent, NotText>;

// Reads `size` bytes, the size the file had when it was opened: what is appended meanwhile is not seen, and a file that
// shrank is what was left of it. Errors: TOO_LARGE, OFFSET_BEYOND_END, STORAGE.
Result<FileContent> read_content(ReadableFile& file, std::uint64_t size, const LineRequest& request, const ContentLimits& limits);

}  // namespace weir
