// Times as Weir keeps them: whole milliseconds since 1970 in UTC, shown as RFC 3339 with three digits and Z.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weir {

struct TimeMs {
  std::int64_t ms = 0;
  auto operator<=>(const TimeMs&) const = default;
};

// Any RFC 3339 time: offsets are taken out, digits past the millisecond cut off. Years 0000 to 9999.
Result<TimeMs> parse_time(std::string_view text);

std::string format_time(TimeMs time);

}  // namespace weir
