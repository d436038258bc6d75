// What somebody who typed a name that is none may have meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weir {

// The nearest name by edit distance, letters in either case; empty if none is near.
std::string_view nearest(std::string_view name, const std::vector<std::string_view>& names);

// For the end of a message: "; did you mean NAME?", or nothing. Of names, or of choices with | between. `quote` stands around
// names of several words.
std::string did_you_mean(std::string_view name, const std::vector<std::string_view>& names, std::string_view quote = "");
std::string did_you_mean(std::string_view name, std::string_view choices);

}  // namespace weir
