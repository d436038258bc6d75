// Which version of a file an entry's read record speaks of. Its bytes may be kept as an object: no entry needs them, but an
// answer can be told against them.
#pragma once

#include <optional>

#include "base/sha256.h"
#include "store/entry.h"

namespace weir {

std::optional<Digest> version_read(const Entry& entry);

}  // namespace weir
