// What was typed, against the table: step one of two. What it means is the command's business.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/spec.h"

namespace weir::cli {

struct Arguments {
  const CommandSpec* command = nullptr;
  std::vector<std::string> words;  // the positional ones
  std::map<std::string, std::vector<std::string>, std::less<>> options;

  bool has(std::string_view option) const { return options.contains(option); }
  std::optional<std::string> value(std::string_view option) const;  // the last one given
  const std::vector<std::string>& values(std::string_view option) const;
};

// USAGE for an unknown command or option (with the nearest name), a missing or surplus argument or value, a value that
// is none of the choices. --help and --version are taken before anything else is checked.
Result<Arguments> parse_arguments(const std::vector<std::string>& words);

}  // namespace weir::cli
