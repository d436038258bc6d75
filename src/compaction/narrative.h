// A snapshot as Markdown for people and models: a pure function of the stored form (docs/snapshot.md has every line). No
// string of data can begin a line, a list item, a heading or a fence.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "json/value.h"

namespace weir::compaction {

inline constexpr std::uint64_t kNarrativeBytes = 32768;  // what `weir compact` stores at most, unless told otherwise

// `snapshot` is an accepted one, stored or shown. `max_bytes` 0: no bound.
// BUDGET_TOO_SMALL if even the shortest form is longer; the detail `needed` says how long that is.
Result<std::string> narrative(const json::Value& snapshot, std::uint64_t max_bytes);

// The same with a bound that is raised to the shortest form's size where it must be; answers the bound that held.
struct BoundNarrative {
  std::string text;
  std::uint64_t max_bytes = 0;
};
BoundNarrative narrative_or_shortest(const json::Value& snapshot, std::uint64_t max_bytes);

}  // namespace weir::compaction
