#include "base/doors.h"

#include <gtest/gtest.h>

#include <vector>

namespace weir {
namespace {

struct FixedClock final : Clock {
  TimeMs now() override { return time; }
  TimeMs time;
};

struct Scripted final : Random {
  std::uint64_t next() override { return values.at(at++); }
  std::vector<std::uint64_t> values;
  std::size_t at = 0;
};

TEST(UuidTest, HasTheTimeInFrontAndVersionAndVariantInPlace) {
  FixedClock clock;
  clock.time = {0x0123456789AB};
  Scripted zeros, ones;
  zeros.values = {0, 0};
  ones.values = {~std::uint64_t{0}, ~std::uint64_t{0}};
  EXPECT_EQ(uuid_v7(clock, zeros), "01234567-89ab-7000-8000-000000000000");
  EXPECT_EQ(uuid_v7(clock, ones), "01234567-89ab-7fff-bfff-ffffffffffff");
}

TEST(UuidTest, ALaterOneSortsBehind) {
  FixedClock clock;
  clock.time = {1769903999999};
  const std::string earlier = uuid_v7(clock, system_random());
  ++clock.time.ms;
  EXPECT_LT(earlier, uuid_v7(clock, system_random()));
}

TEST(DoorsTest, TheSystemsClockIsInThisCenturyAndItsChanceDoesNotRepeat) {
  EXPECT_GT(format_time(system_clock().now()), "2024");
  EXPECT_LT(format_time(system_clock().now()), "2124");
  EXPECT_NE(system_random().next(), system_random().next());
}

}  // namespace
}  // namespace weir
