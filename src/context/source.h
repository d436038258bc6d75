// What assembling needs from the outside: entries of the path by their place, and blobs by their name.
#pragma once

#include <string>

#include "base/result.h"
#include "base/sha256.h"
#include "store/entry.h"

namespace weir::context {

class Source {
 public:
  virtual ~Source() = default;
  // An entry that made a node, or that edited one.
  virtual Result<Entry> entry(Seq seq) = 0;
  // The bytes of that hash, re-hashed by whoever gives them; CORRUPT or NOT_FOUND, never other bytes.
  virtual Result<std::string> blob(const Digest& digest) = 0;
};

}  // namespace weir::context
