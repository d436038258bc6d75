// A ReadRecord in the shape of pi-readcache: `details.readcache` and `details.truncation` of a tool result, and the custom
// entry that withdraws trust. Records written by pi-readcache itself are understood too.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "json/value.h"
#include "session/read_record.h"

namespace weir {

// What pi-readcache tells besides the record, for people who look into a session file.
struct ReadDebug {
  bool base_found = false, diff_attempted = false;
  std::optional<bool> outside_range_changed, base_object_found;
  std::optional<std::uint64_t> largest_bytes, max_lines, diff_bytes, diff_changed_lines;
};

// How a plain read was cut: what pi calls details.truncation. The content it speaks of is the text without the notice.
struct Truncation {
  enum class By { lines, bytes };
  By by = By::lines;
  std::uint64_t total_lines = 0, total_bytes = 0;  // of the selected text
  std::uint64_t output_lines = 0, output_bytes = 0;
  bool first_line_exceeds_limit = false;
  bool operator==(const Truncation&) const = default;
};
json::Value truncation_to_pi(const Truncation& cut, std::string_view content, std::uint64_t max_lines, std::uint64_t max_bytes,
                             json::Arena& arena);

// The member `readcache` of a tool result's details. `path_key`: the absolute path with links not followed.
json::Value read_to_pi(const ReadRecord& record, std::string_view path_key, const ReadDebug& debug, json::Arena& arena);

// From the `details` of a tool result named `read`; nothing if there is no record, or none that keeps the rules.
std::optional<ReadRecord> read_from_pi(const json::Value& details);

// `data` of a custom entry of type `pi-readcache`.
inline constexpr std::string_view kPiReadcache = "pi-readcache";
json::Value refresh_to_pi(const RefreshBody& refresh, std::int64_t at_ms, json::Arena& arena);
std::optional<RefreshBody> refresh_from_pi(const json::Value& data);

// As strict as pi-readcache itself: a bad `debug` makes the record invalid. For its test suite only.
bool is_strict_pi_record(const json::Value& readcache);

}  // namespace weir
