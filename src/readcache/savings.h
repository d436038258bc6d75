// What the cache saved since the barrier, measured against the plain reads it stood for: a first read saves nothing.
#pragma once

#include <cstdint>
#include <map>

#include "readcache/trust.h"

namespace weir {

struct ReadSavings {
  std::map<ReadMode, std::uint64_t> reads;     // evidence by mode
  std::map<ReadMode, std::uint64_t> saved_by;  // bytes, by markers and diffs
  std::uint64_t baseline = 0, sent = 0;        // bytes
  std::uint64_t saved = 0, inflated = 0;       // of answers shorter, and longer, than their plain read
  bool estimated = false;                      // records that do not say how much was sent are among them
  struct {
    std::uint64_t barrier = 0, refresh = 0, bypass = 0, repeat = 0, blob = 0;
  } resent;  // bytes sent although this path had shown them, by cause

  std::int64_t net() const { return static_cast<std::int64_t>(saved) - static_cast<std::int64_t>(inflated); }
  std::int64_t tokens_net() const;
};

// `before`: the state at the barrier's parent, for what was known then. `max_bytes` of an answer, for estimates.
ReadSavings read_savings(const TrustFold::State& state, const TrustFold::State& before, std::uint64_t max_bytes);

}  // namespace weir
