// What a workload writes, as pure functions of small numbers: the program that writes (workload.cc) and the oracle that
// judges what is left (check_store.cc) derive every byte from here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::faults {

// Text without white space at its ends and without anything that looks like a secret: `name`, then filler up to `bytes`.
std::string filled(std::string_view name, std::uint64_t bytes);

// Appends: entry `w<writer>t<thread>-<n>` of session "append", n = 1, 2, 3, ... without gaps per writer and thread.
struct AppendStep {
  std::uint64_t writer = 0, thread = 0, n = 0, bytes = 0;

  static std::optional<AppendStep> parse(std::string_view token);
  std::string id() const;
  std::string token() const;    // the id, and the bytes of its content
  std::string content() const;  // begins with the token
};
// Every fourth entry is large, the others are small, if `most` is more than a body takes.
std::uint64_t append_bytes(std::uint64_t n, std::uint64_t most);
inline constexpr const char* kAppendSession = "append";

// Branches: session "branch", cycles of five steps:
//   1 append b<c>.1 to main   2 fork f<c> there   3 append b<c>.2 to f<c>   4 move walker there   5 delete f<c-2>
inline constexpr const char* kBranchSession = "branch";
inline constexpr std::uint64_t kBranchSteps = 5;
std::string branch_id(std::uint64_t cycle, int which);
std::string branch_head(std::uint64_t cycle);

// Imports: a pi file of session "import" that grows by three lines in a burst; each burst leaves half a line behind.
inline constexpr const char* kImportSession = "import";
inline constexpr std::uint64_t kBurstLines = 3;
std::string pi_header();
std::string pi_line(std::uint64_t n);  // 1, 2, 3, ...; every fifth is large

// Upkeep: session u<c> has three entries: one small, one with two blobs of its own, one with a blob all share. Steps:
//   1 append them   2 purge the blob A of u<c-1>   3 purge session u<c-2>   4 collect garbage
inline constexpr std::uint64_t kUpkeepSteps = 4;
std::string upkeep_session(std::uint64_t cycle);
std::optional<std::uint64_t> upkeep_cycle(std::string_view session);
std::string upkeep_small(std::uint64_t cycle);
std::string upkeep_blob(std::uint64_t cycle, char which);  // 'A', 'B'
std::string upkeep_shared();

// "<kind>:<cycle>.<step>"
struct CycleToken {
  char kind = 0;
  std::uint64_t cycle = 0, step = 0;

  static std::optional<CycleToken> parse(std::string_view token);
  std::string text() const;
  std::uint64_t order(std::uint64_t steps) const { return (cycle - 1) * steps + step; }
};

std::optional<std::uint64_t> parse_number(std::string_view text);

}  // namespace weir::faults
