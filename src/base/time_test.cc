#include "base/time.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace weir {
namespace {

constexpr std::int64_t kLeast = -62167219200000, kMost = 253402300799999;

struct Case {
  std::string text;
  std::int64_t ms;
};

TEST(TimeTest, AnyRfc3339TimeIsRead) {
  const Case good[] = {
      {"1970-01-01T00:00:00Z", 0},
      {"1970-01-01T00:00:00.001Z", 1},
      {"1969-12-31T23:59:59.999Z", -1},
      {"2026-01-31T23:59:59.999Z", 1769903999999},
      {"2026-01-31t23:59:59.999z", 1769903999999},
      {"2026-01-31 23:59:59.999Z", 1769903999999},
      {"2026-01-31T23:59:59.9999999999999999999Z", 1769903999999},
      {"2024-02-29T12:00:00Z", 1709208000000},
      {"2000-02-29T00:00:00Z", 951782400000},
      {"1900-03-01T00:00:00Z", -2203891200000},
      {"2024-02-29T12:00:00.5Z", 1709208000500},
      {"2024-02-29T12:00:00.05Z", 1709208000050},
      {"2026-06-01T09:00:00+05:30", 1780284600000},
      {"2026-05-31T20:30:00-07:00", 1780284600000},
      {"2026-06-01T03:30:00-00:00", 1780284600000},
      {"2016-12-31T23:59:60Z", 1483228800000},
      {"0000-01-01T00:00:00Z", kLeast},
      {"9999-12-31T23:59:59.999Z", kMost},
      {"0000-01-01T00:00:00-23:59", kLeast + 86340000},
  };
  for (const auto& [text, ms] : good) {
    const auto time = parse_time(text);
    ASSERT_TRUE(time.ok()) << text;
    EXPECT_EQ(time->ms, ms) << text;
  }
}

TEST(TimeTest, AnythingElseIsRefused) {
  const std::string bad[] = {
      "",
      "x",
      "2026",
      "2026-01-31",
      "2026-01-31T23:59Z",
      "20260131T235959Z",
      "2026-1-31T23:59:59Z",
      "26-01-31T23:59:59Z",
      "12026-01-31T23:59:59Z",
      "-2026-01-31T23:59:59Z",
      "+2026-01-31T23:59:59Z",
      "2026-01-31T23:59:59",
      "2026-01-31_23:59:59Z",
      "2026/01/31T23:59:59Z",
      " 2026-01-31T23:59:59Z",
      "2026-01-31T23:59:59Z ",
      "2026-01-31T23:59:59ZZ",
      "2026-01-31T23:59:59.Z",
      "2026-01-31T23:59:59,5Z",
      "2026-01-31T23:59:59.5",
      "2026-01-31T2a:59:59Z",
      "2026-00-31T23:59:59Z",
      "2026-13-01T23:59:59Z",
      "2026-01-00T23:59:59Z",
      "2026-01-32T23:59:59Z",
      "2026-04-31T23:59:59Z",
      "2023-02-29T00:00:00Z",
      "1900-02-29T00:00:00Z",
      "2026-01-31T24:00:00Z",
      "2026-01-31T23:60:00Z",
      "2026-01-31T23:59:61Z",
      "2026-01-31T23:59:59+24:00",
      "2026-01-31T23:59:59+05:60",
      "2026-01-31T23:59:59+0530",
      "2026-01-31T23:59:59+5:30",
      "2026-01-31T23:59:59+05",
      "2026-01-31T23:59:59~05:30",
      "2026-01-31T23:59:59Z+05:30",
      "0000-01-01T00:00:00+00:01",
      "9999-12-31T23:59:59-00:01",
      "9999-12-31T23:59:60Z",
      std::string("2026-01-31T23:59:59Z\0", 21),
      "\xd9\xa2\xd9\xa0\xd9\xa2\xd9\xa6-01-31T23:59:59Z",
  };
  for (const std::string& text : bad) {
    const auto time = parse_time(text);
    ASSERT_FALSE(time.ok()) << text;
    EXPECT_EQ(time.error().code(), ErrorCode::INVALID_FIELD) << text;
  }
  EXPECT_EQ(parse_time("soon").error().message(), "a time is RFC 3339 like 2026-01-31T23:59:59.999Z, not 'soon'");
  EXPECT_EQ(parse_time("\x1b[2J\xff").error().message(), "a time is RFC 3339 like 2026-01-31T23:59:59.999Z, not '\\x1b[2J\\xff'");
}

TEST(TimeTest, IsShownWithThreeDigitsAndZ) {
  EXPECT_EQ(format_time({0}), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(format_time({-1}), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(format_time({1769903999999}), "2026-01-31T23:59:59.999Z");
  EXPECT_EQ(format_time({kLeast}), "0000-01-01T00:00:00.000Z");
  EXPECT_EQ(format_time({kMost}), "9999-12-31T23:59:59.999Z");
}

TEST(TimeTest, OutsideTheYearsItIsShownAsTheNearestOne) {
  EXPECT_EQ(format_time({INT64_MIN}), "0000-01-01T00:00:00.000Z");
  EXPECT_EQ(format_time({INT64_MAX}), "9999-12-31T23:59:59.999Z");
}

RC_GTEST_PROP(TimeTest, EveryMillisecondOfTheYears0000To9999ComesBack, ()) {
  const std::int64_t ms = *rc::gen::inRange<std::int64_t>(kLeast, kMost + 1);
  const std::string text = format_time({ms});
  RC_ASSERT(text.size() == 24u);
  RC_ASSERT(parse_time(text).value().ms == ms);
}

RC_GTEST_PROP(TimeTest, TextOrderIsTimeOrder, ()) {
  const std::int64_t a = *rc::gen::inRange<std::int64_t>(kLeast, kMost + 1), b = *rc::gen::inRange<std::int64_t>(kLeast, kMost + 1);
  RC_ASSERT((format_time({a}) < format_time({b})) == (a < b));
}

}  // namespace
}  // namespace weir
