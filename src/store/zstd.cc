#include "store/zstd.h"

#include <zstd.h>
#include <zstd_errors.h>

#include <new>

#include "base/limits.h"

namespace weir {
namespace {

constexpr int kLevel = 1;  // level 3 is a tenth smaller and half as fast on agents' outputs

void check(std::size_t result) {
  if (ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation) throw std::bad_alloc();
  WEIR_CHECK(!ZSTD_isError(result));
}

}  // namespace

std::string zstd_compress(std::string_view bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t size = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), kLevel);
  check(size);
  out.resize(size);
  return out;
}

Result<std::string> zstd_decompress(std::string_view frame, std::size_t most) {
  const unsigned long long size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN)
    return Error(ErrorCode::CORRUPT, "not a zstd frame with its size");
  if (size > most) return over_limit("decompressed bytes", most, size);
  std::string out(size, '\0');
  const std::size_t got = ZSTD_decompress(out.data(), out.size(), frame.data(), frame.size());
  if (ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation) throw std::bad_alloc();  // no damage
  if (ZSTD_isError(got)) return Error(ErrorCode::CORRUPT, std::string("zstd: ") + ZSTD_getErrorName(got));
  if (got != size) return Error(ErrorCode::CORRUPT, "the zstd frame is shorter than it says");
  return out;
}

}  // namespace weir
