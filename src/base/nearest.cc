#include "base/nearest.h"

#include <algorithm>

namespace weir {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (lower(a[i - 1]) != lower(b[j - 1]));
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row.back();
}

}  // namespace

std::string_view nearest(std::string_view name, const std::vector<std::string_view>& names) {
  std::string_view best;
  std::size_t least = std::max<std::size_t>(name.size() / 3, 2) + 1;
  for (const std::string_view other : names) {
    // So far apart are they at least; a long text is none of a few short names, and need not be looked through.
    if (std::max(name.size(), other.size()) - std::min(name.size(), other.size()) >= least) continue;
    const std::size_t found = distance(name, other);
    if (found >= least) continue;
    least = found;
    best = other;
  }
  return best;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string_view>& names, std::string_view quote) {
  const std::string_view near = nearest(name, names);
  return near.empty() ? "" : "; did you mean " + std::string(quote) + std::string(near) + std::string(quote) + "?";
}

std::string did_you_mean(std::string_view name, std::string_view choices) {
  std::vector<std::string_view> names;
  for (std::size_t at = 0; at <= choices.size();) {
    const std::size_t end = std::min(choices.find('|', at), choices.size());
    names.push_back(choices.substr(at, end - at));
    at = end + 1;
  }
  return did_you_mean(name, names);
}

}  // namespace weir
