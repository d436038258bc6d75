#include "readcache/file_content.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "readcache/image_type.h"

namespace weir {
namespace {

constexpr std::uint64_t kPartBytes = 128 * limits::kKiB;  // stays in the processor's cache from the read to the hash

Result<std::size_t> fill(ReadableFile& file, char* buffer, std::size_t size) {
  std::size_t have = 0;
  while (have < size) {
    TRY(const std::size_t n, file.read(buffer + have, size - have));
    if (n == 0) break;
    have += n;
  }
  return have;
}

}  // namespace

Result<FileContent> read_content(ReadableFile& file, std::uint64_t size, const LineRequest& request, const ContentLimits& limits) {
  if (size > limits.max_file_bytes) {
    return Error(ErrorCode::TOO_LARGE, fmt::format("the file has {} bytes, the limit is {}", size, limits.max_file_bytes))
        .with("limit", static_cast<std::int64_t>(limits.max_file_bytes))
        .with("value", static_cast<std::int64_t>(size));
  }
  const bool keep = size <= limits.store_max_bytes;
  std::string buffer(keep ? size : kPartBytes, '\0');
  Sha256 hash;
  Utf8Check utf8;
  LineWindow window(request, std::min<std::uint64_t>(limits.max_bytes, size) + 1);
  TextContent content;
  while (content.bytes < size) {
    char* at = buffer.data() + (keep ? content.bytes : 0);
    const std::uint64_t wanted = std::min(kPartBytes, size - content.bytes);
    TRY(const std::size_t got, fill(file, at, wanted));
    const std::string_view part(at, got);
    if (content.bytes == 0) {
      if (const auto mime = image_type(part)) return FileContent(NotText{*mime, size});
    }
    if (!utf8.add(part)) return FileContent(NotText{"application/octet-stream", size});
    hash.update(part);
    window.add(part);
    content.bytes += got;
    if (got < wanted) break;
  }
  if (!utf8.complete()) return FileContent(NotText{"application/octet-stream", size});
  TRY(content.selection, window.finish());
  content.version = hash.finish();
  if (keep) {
    buffer.resize(content.bytes);
    content.text = std::move(buffer);
  }
  return FileContent(std::move(content));
}

}  // namespace weir
