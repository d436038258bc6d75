// Every limit, with its reason. Over a limit is LIMIT_EXCEEDED with name, limit and value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace weir::limits {

inline constexpr std::size_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;

inline constexpr std::size_t kDepth = 64;                      // nesting of JSON at the edges; keeps recursion off the stack's end
inline constexpr std::size_t kStoredDepth = kDepth + 8;        // of what is in the log: an importer wraps what it cannot map
inline constexpr std::size_t kBigIntegerDigits = 4096;         // the one extension of RFC 8785
inline constexpr std::size_t kBreadboardDepth = 512;           // nesting in a record of the foreign profile breadboard-0.1
inline constexpr std::size_t kBreadboardIntegerDigits = 4300;  // Python's own limit for reading an integer
inline constexpr std::size_t kBlobStringBytes = 64 * kKiB;     // a longer string leaves the body for the blob store
inline constexpr std::size_t kBlobPreviewCodePoints = 256;
inline constexpr std::size_t kEntryBodyBytes = 1 * kMiB;                  // a canonical body once its large strings are blobs
inline constexpr std::size_t kReplacementBytes = 262144;                  // a longer `replacement` of a compaction becomes a blob
inline constexpr std::size_t kAppendEntryBytes = 64 * kMiB;               // one entry as text on the command line
inline constexpr std::size_t kAppendEntries = 100000;                     // entries in one append on the command line
inline constexpr std::size_t kRequestEntries = 1000;                      // entries in one append by a program: one commit, soon done
inline constexpr std::size_t kImportLineBytes = 10 * kMiB;                // one line of an imported file; a longer one is malformed
inline constexpr std::size_t kBlobBytes = 256 * kMiB;                     // what a blob may grow to when it is decompressed
inline constexpr std::size_t kHeads = 10000;                              // heads of one session
inline constexpr std::uint64_t kSeq = (std::uint64_t{1} << 40) - 1;       // entries of one session: 40 bits of the row key
inline constexpr std::uint64_t kSessions = (std::uint64_t{1} << 22) - 1;  // sessions of one store: the bits above
inline constexpr std::size_t kConfigBytes = 1 * kMiB;
inline constexpr std::size_t kHistoryBlobBytes = 1 * kMiB;   // of a large string that can be searched: its beginning says what it is
inline constexpr std::size_t kHistoryEntryBytes = 4 * kMiB;  // of an entry, however many large strings it has
inline constexpr std::size_t kHistoryQueryBytes = 16 * kKiB;
inline constexpr std::size_t kHistoryTerms = 256;       // words and phrases of one query: each is looked for in every match
inline constexpr std::size_t kHistoryMatches = 100000;  // of one answer, which is held in memory
inline constexpr std::size_t kPageBytes = 8 * kMiB;     // a page of a list ends with the item that reaches it
inline constexpr int kDiskFullPercent = 95;             // writes are refused above it, reads go on

}  // namespace weir::limits

namespace weir {

inline Error over_limit(std::string_view name, std::uint64_t limit, std::uint64_t value) {
  return Error(ErrorCode::LIMIT_EXCEEDED, std::string(name) + " is " + std::to_string(value) + ", the limit is " + std::to_string(limit))
      .with("name", std::string(name))
      .with("limit", static_cast<std::int64_t>(limit))
      .with("value", static_cast<std::int64_t>(value));
}

}  // namespace weir
