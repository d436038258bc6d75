// Small things about the texts HTTP is made of.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::http {

std::string lower(std::string_view text);  // ASCII only
bool same_name(std::string_view a, std::string_view b);
std::string_view trimmed(std::string_view text);  // spaces and tabs
std::vector<std::string_view> split(std::string_view text, char separator);

// "a%20b" is "a b". Nothing for a wrong escape. In a query `+` is a space.
std::optional<std::string> percent_decoded(std::string_view text, bool in_query);

}  // namespace weir::http
