// Two of the three doors to the outside: the clock and chance. Both are passed in, never reached for, so that a test
// can put its own there. Nothing that is hashed depends on either.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"

namespace weir {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimeMs now() = 0;
};

class Random {
 public:
  virtual ~Random() = default;
  virtual std::uint64_t next() = 0;
};

Clock& system_clock();
Random& system_random();

// A UUID of version 7: sessions that nobody named sort by when they began.
std::string uuid_v7(Clock& clock, Random& random);

}  // namespace weir
