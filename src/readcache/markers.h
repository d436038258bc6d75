// What stands in place of content the model still holds.
#pragma once

#include <string>
#include <vector>

#include "readcache/trust.h"

namespace weir {

std::string unchanged_marker(LineNo total);
// `exact`: every line was shown in the version that is there now.
std::string unchanged_range_marker(LineRange lines, LineNo total, bool exact);
std::string shifted_marker(LineRange lines, LineNo total, LineRange shown_as);
// The second line of an answer for the first part of a request.
std::string rest_notice(LineNo first_left_out, LineNo end);

// The marker with where the lines were shown put before its first closing bracket. `turn`: assistant messages so far.
std::string with_place(std::string marker, const std::vector<View::Interval>& shown, std::uint64_t turn);

}  // namespace weir
