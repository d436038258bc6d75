// zstd behind a narrow header.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace weir {

std::string zstd_compress(std::string_view bytes);

// CORRUPT if it is no whole zstd frame, LIMIT_EXCEEDED if it would grow over `most` bytes.
Result<std::string> zstd_decompress(std::string_view frame, std::size_t most);

}  // namespace weir
