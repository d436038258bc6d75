#include "base/doors.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <chrono>

#include "base/check.h"

namespace weir {
namespace {

class SystemClock final : public Clock {
 public:
  TimeMs now() override {
    using namespace std::chrono;
    return TimeMs{duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count()};
  }
};

class SystemRandom final : public Random {
 public:
  std::uint64_t next() override {
    std::uint64_t value;
    WEIR_CHECK(getrandom(&value, sizeof value, 0) == sizeof value);
    return value;
  }
};

}  // namespace

Clock& system_clock() {
  static SystemClock clock;
  return clock;
}

Random& system_random() {
  static SystemRandom random;
  return random;
}

std::string uuid_v7(Clock& clock, Random& random) {
  const auto ms = static_cast<std::uint64_t>(clock.now().ms) & 0xFFFFFFFFFFFF;
  const std::uint64_t a = random.next(), b = random.next();
  return fmt::format("{:08x}-{:04x}-7{:03x}-{:04x}-{:012x}", ms >> 16, ms & 0xFFFF, a & 0xFFF, 0x8000 | (b >> 50), b & 0xFFFFFFFFFFFF);
}

}  // namespace weir
