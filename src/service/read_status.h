// Use cases: what of the files read is trusted, and what that saved; what had been read before the last compaction.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "json/value.h"
#include "readcache/savings.h"
#include "service/read_source.h"
#include "service/service.h"

namespace weir {

struct ReadStatus {
  SessionId session;
  TrustFold::State trust;
  bool followed = false;          // else every read sends the text, whatever is known
  bool host_followed = false;     // but not those that a host records in its own log, which it hands over in this process
  std::uint64_t undelivered = 0;  // reads whose answers are not known to have arrived
  std::uint64_t start_index = 0;  // of the window, counted along the path from 0
  std::uint64_t paths = 0, scopes = 0, blocked_ranges = 0, pending = 0;
  ReadSavings savings;
  std::uint64_t objects = 0, object_bytes = 0, live_bytes = 0;
  bool over_budget = false;

  json::Value to_json(json::Arena& arena) const;
  std::string pi_text() const;  // as pi-readcache says it, in six lines
};
Result<ReadStatus> read_status(Service& service, const Address& address, const ReadOptions& options);

// What is known of one file, as JSON: slots, view, blocked lines.
json::Value path_json(const std::string& path, const PathTrust& trust, json::Arena& arena);

// A file that was read before the barrier. Information, never trust.
struct AlreadyRead {
  std::string path;  // as shown: below the session's directory without it
  std::vector<LineRange> lines;
  LineNo total = 0;
  std::string version;     // shown last
  bool mixed = false;      // other lines were shown in other versions
  std::string_view state;  // `unchanged since`, `changed since`, `gone`, `not checked`
};
struct ReadDigest {
  std::vector<AlreadyRead> files;  // newest first
  std::uint64_t more = 0;
  std::string text() const;  // at most kDigestBytes; empty if there is nothing
  json::Value to_json(json::Arena& arena) const;
};
inline constexpr std::size_t kDigestPaths = 50, kDigestBytes = 4096;
Result<ReadDigest> read_digest(Service& service, const Address& address, const ReadSource& source, const std::string& cwd,
                               const std::vector<std::string>* within = nullptr);

// Versions the state may still be asked to compare with.
void live_versions(const TrustFold::State& state, std::set<Digest>& out);

}  // namespace weir
