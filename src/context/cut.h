// A long tool result is shown by its beginning and its end, with a line between that names the whole by its hash.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/sha256.h"

namespace weir::context {

// Nothing if the text needs no cut: it is within most_bytes less the room for the line. `whole` names the full content.
std::optional<std::string> cut_text(std::string_view text, std::uint64_t most_bytes, const Digest& whole);

}  // namespace weir::context
