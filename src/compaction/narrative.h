// A snapshot as Markdown for people and models: a pure function of the stored form (docs/snapshot.md has every line). No
// string of data can begin a line, a list item, a heading or a fence.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "json/value.h"

namespace weir::compaction {

inline constexpr std::uint64_t kNarrativeBytes = 32768;  // what `weir compact` stores at most, unless told otherwise

// `snapshot` is an accepted one, stored or shown; what is missing in another or of another type reads as nothing.
// `max_bytes` 0: no bound. A text that is too long has its strings, lists of pointers and then its other lists shortened;
// objective, done definition, pins, the latest request and the number of next actions never are.
// BUDGET_TOO_SMALL if no form is short enough; the detail `needed` is the least bound that gives one.
Result<std::string> narrative(const json::Value& snapshot, std::uint64_t max_bytes);

// The same with a bound that is raised to what is needed where it must be; answers the bound that held.
struct BoundNarrative {
  std::string text;
  std::uint64_t max_bytes = 0;
};
BoundNarrative narrative_or_shortest(const json::Value& snapshot, std::uint64_t max_bytes);

}  // namespace weir::compaction
