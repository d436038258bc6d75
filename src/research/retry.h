// How often an artifact that was refused may be tried again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "research/state.h"

namespace weir::research {

// The cap of a gate.
std::int64_t most_retries(char gate, const Limits& limits);

// What a refusal of these bytes comes to.
struct Retry {
  std::int64_t attempt = 0;          // which one it is; 0 if none is left
  std::int64_t count = 0, most = 0;  // recorded before it, and at most
  const Directive* again = nullptr;  // these bytes were refused before: this stands, and nothing counts
  bool exhausted() const { return attempt == 0; }
};
Retry next_retry(const State& state, const Limits& limits, char gate, const std::string& artifact, std::string_view sha256);

}  // namespace weir::research
