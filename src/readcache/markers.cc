#include "readcache/markers.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir {
namespace {

constexpr std::size_t kPlacesNamed = 3;

}  // namespace

std::string unchanged_marker(LineNo total) { return fmt::format("[readcache: unchanged, {} lines]", total); }

std::string unchanged_range_marker(LineRange lines, LineNo total, bool exact) {
  if (exact) return fmt::format("[readcache: unchanged in lines {}-{} of {}]", lines.first, lines.last, total);
  return fmt::format("[readcache: unchanged in lines {}-{}; changes exist outside this range]", lines.first, lines.last);
}

std::string shifted_marker(LineRange lines, LineNo total, LineRange shown_as) {
  return fmt::format("[readcache: unchanged in lines {}-{} of {}; shown before as lines {}-{}]", lines.first, lines.last, total,
                     shown_as.first, shown_as.last);
}

std::string rest_notice(LineNo first_left_out, LineNo end) {
  return fmt::format("[Lines {}-{} are not in this answer. Use offset={} to continue.]", first_left_out, end, first_left_out);
}

std::string with_place(std::string marker, const std::vector<View::Interval>& shown, std::uint64_t turn) {
  std::vector<const Showing*> places;
  for (const auto& interval : shown) places.push_back(interval.value.get());
  std::stable_sort(places.begin(), places.end(), [](const Showing* a, const Showing* b) { return a->shown_seq > b->shown_seq; });
  places.erase(std::unique(places.begin(), places.end(), [](const Showing* a, const Showing* b) { return a->entry == b->entry; }),
               places.end());
  if (places.empty()) return marker;
  std::string where = "; shown at ";
  for (std::size_t i = 0; i < std::min(places.size(), kPlacesNamed); ++i) where.append(i == 0 ? "" : ", ").append(places[i]->entry.str());
  if (places.size() > kPlacesNamed) where += fmt::format(" and {} more", places.size() - kPlacesNamed);
  if (const std::uint64_t ago = turn - std::min(turn, places[0]->turn); ago > 0)
    where += fmt::format(", {} turn{} ago", ago, ago == 1 ? "" : "s");
  where += "; bypass_cache=true sends it again";
  return marker.insert(marker.find(']'), where);
}

}  // namespace weir
