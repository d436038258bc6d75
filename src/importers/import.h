// What every importer shares: what it reports, and where it stopped in its file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/secrets.h"
#include "base/sha256.h"
#include "store/log.h"

namespace weir {

struct ImportReport {
  struct Malformed {
    std::uint64_t line;
    std::string reason;
  };
  std::uint64_t lines = 0;    // whole lines of the file so far, the header among them
  std::uint64_t entries = 0;  // new in the log
  std::uint64_t known = 0;    // there already
  std::uint64_t messages = 0, side = 0, orphans = 0, branches = 0, compactions = 0;  // of the new ones
  std::uint64_t torn = 0, held = 0;
  std::map<std::string, std::uint64_t> unknown;
  std::vector<Malformed> malformed;
  MaskCounts masked;

  bool clean() const { return unknown.empty() && malformed.empty() && orphans == 0; }
};

// What is kept beside an imported session, never in hashed entries.
struct ImportSource {
  std::string format;
  std::int64_t version = 0;
  std::string path;
  std::uint64_t device = 0, inode = 0;
  std::uint64_t offset = 0;   // bytes taken from the file
  std::uint64_t lines = 0;    // whole lines taken
  std::uint64_t entries = 0;  // they made
  std::uint64_t index = 0;    // for formats whose lines are numbered: of the last one that could be read
  std::string prefix_sha256;  // of those bytes
  std::string header;         // the header line, canonical and masked
  std::string last;           // id of the last entry in the tree
  std::uint64_t synced = 0;   // seq of the first entry that a sync added: the file may bring it later

  std::string encode() const;  // canonical JSON
  static Result<ImportSource> decode(std::string_view text);
};

struct ImportProgress {
  std::uint64_t bytes = 0, lines = 0, entries = 0;
};

}  // namespace weir
