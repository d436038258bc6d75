// A snapshot's JSON with something done to it. A path is keys and places with dots between them: `state.claims.0.status`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace weir::testing {

// `value` with what stands at `path` replaced or added; null: erased. A place behind an array's last adds to it.
json::Value edited(const json::Value& value, std::string_view path, const json::Value* by, json::Arena& arena);
const json::Value* look_up(const json::Value& root, std::string_view path);

inline constexpr std::string_view kErase = "(erase)";
struct Edit {
  std::string path, by;  // JSON, or kErase
};
// A shown form after the edits, canonical, with the id that its content now has.
std::string with(std::string_view shown, const std::vector<Edit>& edits, bool new_id = true);

// What stands there, canonical.
std::string at(std::string_view shown, std::string_view path);

}  // namespace weir::testing
