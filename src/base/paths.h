// Absolute paths as text. Nothing here looks at a file.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir {

// `//` and `/./` as `/`. `..` stays: only the kernel knows where it leads.
std::string collapse_path(std::string_view path);

// Also `..` taken for the directory before it, where links are nobody's business.
std::string clean_path(std::string_view path);

// What follows `directory` in `path`, by whole components: "b/c" in /a/b/c below /a, "" in /a itself, nothing in /ab.
std::optional<std::string_view> path_below(std::string_view path, std::string_view directory);

}  // namespace weir
