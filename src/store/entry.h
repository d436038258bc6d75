// An entry as the log keeps it, and the digest that chains it to its parent (docs/log.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/sha256.h"
#include "base/time.h"

namespace weir {

// Place of an entry in its session: 1, 2, 3, ... in append order, branches included. 0 means "no entry".
using Seq = std::uint64_t;

struct Entry {
  Seq seq = 0;
  Seq parent = 0;
  Seq barrier = 0;          // nearest compaction on the path to it, itself included
  std::uint64_t depth = 0;  // entries on that path
  EntryId id;
  std::string type;
  std::string body;       // canonical JSON, masked, large strings out
  TimeMs at;              // never hashed, never used for order
  bool imported = false;  // it stands for a line of a foreign log; never hashed either
  Digest digest;
};

// The hash after the body: all of the digest that does not depend on where the entry goes, so callers take it before
// they ask for the write lock.
class BodyHash {
 public:
  explicit BodyHash(std::string_view canonical_body);
  Digest finish(const std::optional<Digest>& parent, std::string_view type) const;

 private:
  Sha256 hash_;
};

Digest entry_digest(const std::optional<Digest>& parent, std::string_view type, std::string_view canonical_body);

// `e` + the first `hex_digits` of the digest: 8 or more for an id Weir makes, 16 for an entry pointer.
std::string entry_pointer(const Digest& digest, std::size_t hex_digits = 16);

// Is the id one that Weir made from this digest?
bool derived_id(std::string_view id, const Digest& digest);

}  // namespace weir
