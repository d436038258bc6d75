// What a caller's words ask for: which path, which lines. Pure; whoever calls says which paths exist.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"
#include "json/value.h"
#include "readcache/line_window.h"

namespace weir {

struct PathContext {
  std::string cwd;   // absolute; relative paths are joined to it
  std::string home;  // for ~; empty: ~ is a name like any other
};

struct PathRequest {
  std::string given;     // in the caller's words, without a range suffix
  std::string absolute;  // links not followed, `..` left to the kernel
  LineRequest lines;
};

// Strips one leading @, takes Unicode spaces for spaces, expands ~; empty `home`: ~ is a name like any other.
std::string expand_path(std::string_view given, std::string_view home);

// That, joined to the working directory, with // and /./ collapsed.
std::string absolute_path(std::string_view given, const PathContext& context);

// Other spellings under which macOS may have stored the file, in the order in which to try them.
std::vector<std::string> path_variants(const std::string& absolute);

// An offset or limit as its number stands in canonical JSON: BAD_RANGE if that is no integer from 1. Too large for 64 bits
// is the largest.
Result<std::uint64_t> parse_offset(std::string_view number);
Result<std::uint64_t> parse_limit(std::string_view number);
// Both, as values; null: not given.
Result<LineRequest> parse_lines(const json::Value* offset, const json::Value* limit);

// `3` (from there on) or `3-9`. BAD_RANGE_SUFFIX.
Result<LineRequest> parse_line_range(std::string_view text);

// Finds the spelling that exists, and takes `path:START` and `path:START-END` apart if the caller gave no lines and only
// the part before the colon exists. BAD_RANGE_SUFFIX if what follows the colon is no range.
Result<PathRequest> resolve_request(std::string_view given, const LineRequest& lines, const PathContext& context,
                                    FunctionRef<bool(const std::string& absolute)> exists);

}  // namespace weir
