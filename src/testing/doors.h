// Clocks and chance that a test holds in its hand.
#pragma once

#include "base/doors.h"

namespace weir::testing {

class FixedClock final : public Clock {
 public:
  explicit FixedClock(std::int64_t ms) : now_{ms} {}
  TimeMs now() override { return now_; }
  void set(std::int64_t ms) { now_ = {ms}; }

 private:
  TimeMs now_;
};

// Every look at it is `step_ms` after the one before; a negative step is a clock that is being set back.
class SteppingClock final : public Clock {
 public:
  SteppingClock(std::int64_t start_ms, std::int64_t step_ms) : next_{start_ms}, step_ms_(step_ms) {}
  TimeMs now() override {
    const TimeMs now = next_;
    next_.ms += step_ms_;
    return now;
  }

 private:
  TimeMs next_;
  std::int64_t step_ms_;
};

// splitmix64: the same seed, the same numbers, on every machine.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() override {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
  }

 private:
  std::uint64_t state_;
};

}  // namespace weir::testing
