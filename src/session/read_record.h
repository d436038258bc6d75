// What a cached read delivered: the record that trust is folded from. It is the body of a `read` entry, or the member
// `read` of the message that carried the answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "session/line_range.h"

namespace weir {

enum class ReadMode { full, full_fallback, unchanged, unchanged_range, diff, range_diff };

std::string_view mode_name(ReadMode mode);
std::optional<ReadMode> parse_mode(std::string_view name);  // also by pi-readcache's name for full_fallback

constexpr bool is_anchor(ReadMode mode) { return mode == ReadMode::full || mode == ReadMode::full_fallback; }
constexpr bool is_marker(ReadMode mode) { return mode == ReadMode::unchanged || mode == ReadMode::unchanged_range; }
constexpr bool is_diff(ReadMode mode) { return mode == ReadMode::diff || mode == ReadMode::range_diff; }

// Which lines were asked for: all of the file, or a range.
struct ReadScope {
  bool full = true;
  LineRange lines;  // of a range

  static std::optional<ReadScope> parse(std::string_view text);  // `full` or `r:3:9`
  std::string text() const;
  bool operator==(const ReadScope&) const = default;
};

struct ReadRecord {
  ReadMode mode = ReadMode::full;
  std::string path;
  std::string name;  // the absolute name it was asked for, links not followed; empty: the path itself
  bool full_scope = true;
  LineRange range;  // start..end, also where the scope is full
  LineNo total_lines = 1;
  std::uint64_t bytes = 0;                      // of the file
  std::string served;                           // the version it was made from
  std::string base;                             // the version it is told against; empty: none
  std::vector<LineRange> shown;                 // lines whose text is in the answer
  std::optional<std::vector<LineRange>> known;  // diffs: lines of `served` the reader then holds; absent: all of the range
  std::optional<LineRange> from;                // where a shifted range stands in `base`
  std::string held;                             // SHA-256 of what a claim stood on, where that was still in flight; else empty
  std::string text_sha256;                      // of the answer; empty where a foreign record does not say
  std::string reason;
  std::optional<std::uint64_t> sent, baseline;  // bytes of the answer, and of the plain read it stands for
  bool foreign = false;                         // pi-readcache's: versions may be any text, and what was sent is not said

  const std::string& asked_as() const { return name.empty() ? path : name; }
  ReadScope scope() const { return full_scope ? ReadScope{} : ReadScope{false, range}; }
};

// Nothing if the record breaks a rule. Unknown members and reasons have no effect.
std::optional<ReadRecord> parse_read_record(const json::Value& value);
json::Value to_json(const ReadRecord& record, json::Arena& arena);

// Rules that hold for records of every origin: ranges in order, base and scope as the mode demands.
bool is_consistent(const ReadRecord& record);

// Body of a `refresh` entry: trust in a path, or in some of its lines, is withdrawn.
struct RefreshBody {
  std::string path;
  ReadScope scope;
  std::string name = {};  // as of a read

  const std::string& asked_as() const { return name.empty() ? path : name; }
};
std::optional<RefreshBody> parse_refresh(const json::Value& value);
json::Value to_json(const RefreshBody& refresh, json::Arena& arena);

inline constexpr std::size_t kMostShownRanges = 4096;
inline constexpr std::size_t kMostPathBytes = 4096;

}  // namespace weir
