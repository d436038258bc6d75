// The root of a Merkle tree as RFC 6962, section 2.1 has it: a leaf is hashed behind 0x00, two nodes behind 0x01, so
// neither can be taken for the other.
#pragma once

#include <string_view>
#include <vector>

#include "base/sha256.h"

namespace weir {

Digest merkle_leaf(std::string_view data);

// Of leaves in their order; of none, the hash of nothing.
Digest merkle_root(std::vector<Digest> leaves);

}  // namespace weir
