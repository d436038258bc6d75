// Small readings of JSON values that several files of the compiler need.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/utf8.h"
#include "json/value.h"

namespace weir::ctree {

// The member of that name, unless it is null.
const json::Value* present(const json::Value& object, std::string_view key);

std::string_view trimmed(std::string_view text);  // of ASCII white space

std::uint32_t code_points(std::string_view text);

}  // namespace weir::ctree
