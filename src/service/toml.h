// TOML behind a narrow header: a document as a flat list of dotted keys with their lines.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace weir::toml {

using Table = std::map<std::string, std::string>;

struct Item {
  std::string key;  // dotted
  std::int64_t line = 0;
  // Other types of TOML arrive as monostate.
  std::variant<std::monostate, std::string, bool, std::int64_t, std::vector<std::string>, std::vector<Table>, double> value;
};

// INVALID_FIELD with file and line if it is not TOML.
Result<std::vector<Item>> parse_file(std::string_view text, const std::string& path);

// One value, as it stands after the = sign.
Result<Item> parse_value(std::string_view text);

}  // namespace weir::toml
