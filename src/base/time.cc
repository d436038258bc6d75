#include "base/time.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/secrets.h"
#include "base/utf8.h"

namespace weir {
namespace {

constexpr std::int64_t kLeastMs = -62167219200000, kMostMs = 253402300799999;  // years 0000 to 9999

// `count` decimal digits at the front of `text`, taken off it; -1 if they are not there.
int digits(std::string_view& text, int count) {
  if (text.size() < static_cast<std::size_t>(count)) return -1;
  int value = 0;
  for (int i = 0; i < count; ++i) {
    if (text[i] < '0' || text[i] > '9') return -1;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(count);
  return value;
}

bool take(std::string_view& text, std::string_view any) {
  if (text.empty() || any.find(text[0]) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

Result<TimeMs> parse_time(std::string_view text) {
  const Error bad(ErrorCode::INVALID_FIELD, "a time is RFC 3339 like 2026-01-31T23:59:59.999Z, not '" + masked_excerpt(text, 60) + "'");
  std::string_view rest = text;
  const int year = digits(rest, 4);
  if (!take(rest, "-")) return bad;
  const int month = digits(rest, 2);
  if (!take(rest, "-")) return bad;
  const int day = digits(rest, 2);
  if (!take(rest, "Tt ")) return bad;
  const int hour = digits(rest, 2);
  if (!take(rest, ":")) return bad;
  const int minute = digits(rest, 2);
  if (!take(rest, ":")) return bad;
  const int second = digits(rest, 2);
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  if (year < 0 || month < 0 || day < 0 || !date.ok() || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60)
    return bad;

  std::int64_t fraction_ms = 0;
  if (take(rest, ".")) {
    int scale = 100, seen = 0;
    while (!rest.empty() && rest[0] >= '0' && rest[0] <= '9') {
      fraction_ms += (rest[0] - '0') * scale;
      scale /= 10;
      ++seen;
      rest.remove_prefix(1);
    }
    if (seen == 0) return bad;
  }
  std::int64_t offset_minutes = 0;
  if (!take(rest, "Zz")) {
    const bool west = !rest.empty() && rest[0] == '-';
    if (!take(rest, "+-")) return bad;
    const int hours = digits(rest, 2);
    if (!take(rest, ":")) return bad;
    const int minutes = digits(rest, 2);
    if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return bad;
    offset_minutes = (west ? -1 : 1) * (hours * 60 + minutes);
  }
  if (!rest.empty()) return bad;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  const TimeMs time{((days * 24 + hour) * 60 + minute - offset_minutes) * 60000 + second * 1000 + fraction_ms};
  if (time.ms < kLeastMs || time.ms > kMostMs) return bad;
  return time;
}

std::string format_time(TimeMs time) {
  using namespace std::chrono;
  const sys_time<milliseconds> point{milliseconds(std::clamp(time.ms, kLeastMs, kMostMs))};
  const auto day = floor<days>(point);
  const year_month_day date(day);
  const std::int64_t ms = (point - day).count();
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", int(date.year()), unsigned(date.month()), unsigned(date.day()),
                     ms / 3600000, ms / 60000 % 60, ms / 1000 % 60, ms % 1000);
}

}  // namespace weir
