// Unicode forms of names. What is not UTF-8 stays as it is, but for the case of ASCII letters.
#pragma once

#include <string>
#include <string_view>

namespace weir {

std::string to_nfd(std::string_view text);

// NFC, case folded: equal for names that a file system blind to case or form takes for one.
std::string fold_name(std::string_view text);

}  // namespace weir
