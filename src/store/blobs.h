// Bytes named by their SHA-256. Written once, compressed, and re-hashed on every load: a damaged blob is CORRUPT,
// never data.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/doors.h"
#include "base/files.h"
#include "base/result.h"
#include "base/sha256.h"

namespace weir {

// A temporary file this old was left by a crash.
inline constexpr std::int64_t kOldTemporaryMs = 3600 * 1000;

class Blobs {
 public:
  virtual ~Blobs() = default;

  // Stores the bytes; durable after the next flush().
  virtual Result<Digest> put(std::string_view bytes) = 0;
  virtual Result<void> flush() = 0;

  virtual Result<bool> has(const Digest& digest) = 0;
  // Is it there? Then, whoever stored it, it is durable after the next flush().
  virtual Result<bool> refer(const Digest& digest) = 0;
  virtual Result<std::string> get(const Digest& digest) = 0;  // NOT_FOUND, CORRUPT
  virtual Result<void> remove(const Digest& digest) = 0;

  struct Listed {
    std::vector<Digest> objects;         // in order
    std::vector<std::string> strangers;  // paths under objects/ that name no blob
    std::vector<std::string> temporary;  // paths of files being written, or left by a crash
  };
  virtual Result<Listed> list() = 0;
  // Removes temporary files older than an hour; answers how many.
  virtual Result<std::uint64_t> remove_old_temporary(TimeMs now) = 0;
  virtual std::uint64_t stored_bytes(const Digest& digest) = 0;  // on disk; 0 if unknown
  // Of all objects. Counted once and carried along; what other processes do is seen within moments.
  virtual Result<std::uint64_t> total_bytes() = 0;
};

// In `directory` (objects/ of a store), as ab/cdef...
std::unique_ptr<Blobs> make_file_blobs(std::string directory, Files& files, Random& random);
std::unique_ptr<Blobs> make_memory_blobs();

}  // namespace weir
