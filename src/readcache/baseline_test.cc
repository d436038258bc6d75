#include "readcache/baseline.h"

#include <gtest/gtest.h>

#include "testing/results.h"

namespace weir {
namespace {

using testing::must;

Baseline baseline(const std::string& text, const LineRequest& request = {}, const BaselineLimits& limits = {}) {
  LineWindow window(request, limits.max_bytes + 1);
  window.add(text);
  return make_baseline(must(window.finish()), limits, "a.txt");
}

std::string numbered(int first, int last) {
  std::string out;
  for (int i = first; i <= last; ++i) out += "line " + std::to_string(i) + (i < last ? "\n" : "");
  return out;
}

constexpr BaselineLimits kLegacy{.line_count = LineCount::legacy};

TEST(BaselineTest, WhatFitsIsDeliveredAsItIs) {
  for (const std::string text : {"", "\n", "a", "a\n", "alpha\nbeta\r\ngamma\n"}) {
    const Baseline got = baseline(text);
    EXPECT_EQ(got.text, text);
    EXPECT_EQ(got.content(), text);
    EXPECT_EQ(got.truncation, std::nullopt);
    EXPECT_EQ(got.window.first, 1u);
    EXPECT_EQ(got.window.last, 1 + count_newlines(text));
  }
}

TEST(BaselineTest, ALimitThatEndsEarlySaysHowMuchIsLeft) {
  const Baseline got = baseline("a\nb\nc\n", {2, 1});
  EXPECT_EQ(got.text, "b\n\n[2 more lines in file. Use offset=3 to continue.]");
  EXPECT_EQ(got.content(), "b");
  EXPECT_EQ(got.window, (LineRange{2, 2}));
  EXPECT_EQ(got.truncation, std::nullopt);
  EXPECT_EQ(baseline("a\nb\nc\n", {3, 2}).text, "c\n");
}

TEST(BaselineTest, CutByLines) {
  const Baseline got = baseline(numbered(1, 5000));
  EXPECT_EQ(got.text, numbered(1, 2000) + "\n\n[Showing lines 1-2000 of 5000. Use offset=2001 to continue.]");
  EXPECT_EQ(got.window, (LineRange{1, 2000}));
  EXPECT_EQ(got.truncation, (Truncation{Truncation::By::lines, 5000, numbered(1, 5000).size(), 2000, numbered(1, 2000).size(), false}));
  const Baseline range = baseline(numbered(1, 9000), {1000, 5000});
  EXPECT_EQ(range.text, numbered(1000, 2999) + "\n\n[Showing lines 1000-2999 of 9000. Use offset=3000 to continue.]");
  EXPECT_EQ(range.truncation->total_lines, 5000u);
}

TEST(BaselineTest, CutByBytesAtWholeLines) {
  const std::string line(999, 'x');
  std::string text;
  for (int i = 0; i < 100; ++i) text += line + "\n";
  const Baseline got = baseline(text);
  EXPECT_EQ(got.content().size(), 50999u);
  EXPECT_EQ(got.text.substr(got.content_bytes), "\n\n[Showing lines 1-51 of 101 (50.0KB limit). Use offset=52 to continue.]");
  EXPECT_EQ(got.truncation, (Truncation{Truncation::By::bytes, 100, 100000, 51, 50999, false}));
}

TEST(BaselineTest, AFirstLineThatIsTooLongLeavesOnlyTheNotice) {
  const Baseline got = baseline("short\n" + std::string(61440, 'x') + "\nend", {2, {}});
  EXPECT_EQ(got.text, "[Line 2 is 60.0KB, exceeds 50.0KB limit. Use bash: sed -n '2p' a.txt | head -c 51200]");
  EXPECT_EQ(got.content(), "");
  EXPECT_TRUE(got.window.empty());
  EXPECT_EQ(got.truncation, (Truncation{Truncation::By::bytes, 2, 61444, 0, 0, true}));
}

TEST(BaselineTest, ALineOfExactlyTheLimitFits) {
  EXPECT_EQ(baseline(std::string(51200, 'x')).truncation, std::nullopt);
  EXPECT_EQ(baseline(std::string(51200, 'x') + "\ny").window, (LineRange{1, 1}));
  EXPECT_TRUE(baseline(std::string(51201, 'x')).window.empty());
}

TEST(BaselineTest, TheEmptyLastLineCountsOnlyInLegacy) {
  const std::string text = numbered(1, 2000) + "\n";
  EXPECT_EQ(baseline(text).text, text);
  EXPECT_EQ(baseline(text).window, (LineRange{1, 2001}));
  const Baseline legacy = baseline(text, {}, kLegacy);
  EXPECT_EQ(legacy.text, numbered(1, 2000) + "\n\n[Showing lines 1-2000 of 2001. Use offset=2001 to continue.]");
  EXPECT_EQ(legacy.truncation->total_lines, 2001u);
}

TEST(BaselineTest, AFinalLineFeedOverTheByteLimitIsCutAsLines) {
  const std::string text = std::string(25600, 'x') + "\n" + std::string(25599, 'y') + "\n";
  ASSERT_EQ(text.size(), 51201u);
  const Baseline got = baseline(text);
  EXPECT_EQ(got.content(), text.substr(0, 51200));
  EXPECT_EQ(got.truncation->by, Truncation::By::lines);
  EXPECT_EQ(got.window, (LineRange{1, 2}));
  EXPECT_EQ(got.text.substr(51200), "\n\n[Showing lines 1-2 of 3. Use offset=3 to continue.]");
  EXPECT_EQ(baseline(text, {}, kLegacy).truncation->by, Truncation::By::bytes);
}

TEST(BaselineTest, TheLimitsAreOptions) {
  EXPECT_EQ(baseline("aa\nbb\ncc", {}, {.max_lines = 2}).text, "aa\nbb\n\n[Showing lines 1-2 of 3. Use offset=3 to continue.]");
  EXPECT_EQ(baseline("aa\nbb\ncc", {}, {.max_bytes = 5}).text, "aa\nbb\n\n[Showing lines 1-2 of 3 (5B limit). Use offset=3 to continue.]");
  EXPECT_EQ(baseline("aaa", {}, {.max_bytes = 2}).text, "[Line 1 is 3B, exceeds 2B limit. Use bash: sed -n '1p' a.txt | head -c 2]");
}

TEST(BaselineTest, SizesAreRoundedAsPiRoundsThem) {
  const std::pair<std::uint64_t, const char*> cases[] = {
      {0, "0B"},          {1023, "1023B"},    {1024, "1.0KB"},        {1280, "1.3KB"}, {51200, "50.0KB"}, {1048575, "1024.0KB"},
      {1048576, "1.0MB"}, {1572864, "1.5MB"}, {268435456, "256.0MB"},
  };
  for (const auto& [bytes, text] : cases) EXPECT_EQ(format_size(bytes), text);
}

}  // namespace
}  // namespace weir
