#include "readcache/interval_map.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>

namespace weir {
namespace {

constexpr LineNo kLines = 24;
using Plain = std::array<int, kLines + 2>;  // 0: none

std::string show(const IntervalMap<int>& map) {
  std::string out;
  map.each([&](LineRange lines, int value) {
    out += (out.empty() ? "" : " ") + std::to_string(lines.first) + "-" + std::to_string(lines.last) + "=" + std::to_string(value);
  });
  return out;
}

TEST(IntervalMapTest, LaterLinesCutEarlierOnes) {
  IntervalMap<int> map;
  EXPECT_TRUE(map.empty());
  map.set({1, 10}, 1);
  map.set({4, 6}, 2);
  EXPECT_EQ(show(map), "1-3=1 4-6=2 7-10=1");
  map.set({3, 4}, 3);
  EXPECT_EQ(show(map), "1-2=1 3-4=3 5-6=2 7-10=1");
  map.erase({2, 8});
  EXPECT_EQ(show(map), "1-1=1 9-10=1");
  EXPECT_EQ(map.size(), 2u);
}

TEST(IntervalMapTest, NoLinesAreNone) {
  IntervalMap<int> map;
  map.set({5, 4}, 1);
  EXPECT_TRUE(map.empty());
  map.set({1, 9}, 1);
  map.erase({5, 4});
  EXPECT_EQ(show(map), "1-9=1");
  EXPECT_TRUE(map.covers({5, 4}));
  EXPECT_FALSE(map.touches({5, 4}));
}

TEST(IntervalMapTest, TheLastLineNumberHasNoNext) {
  IntervalMap<int> map;
  map.set({1, 9}, 1);
  map.set({20, kLastLine}, 2);
  EXPECT_TRUE(map.touches({kLastLine, kLastLine}));
  map.erase({5, kLastLine});
  EXPECT_EQ(show(map), "1-4=1");
}

TEST(IntervalMapTest, ACopyStaysWhatItWas) {
  IntervalMap<int> map;
  map.set({1, 9}, 1);
  const IntervalMap<int> kept = map;
  map.set({3, 4}, 2);
  EXPECT_EQ(show(kept), "1-9=1");
}

RC_GTEST_PROP(IntervalMapPropertyTest, DoesWhatAnArrayOfLinesDoes, ()) {
  IntervalMap<int> map;
  Plain plain{};
  const auto steps = *rc::gen::scale(2.0, rc::gen::arbitrary<std::vector<std::array<std::uint8_t, 4>>>());
  for (const auto& [what, a, length, value] : steps) {
    const LineRange lines{1 + a % kLines, std::min<LineNo>(kLines, a % kLines + length % 9)};
    const int put = what % 4 == 0 ? 0 : 1 + value % 5;
    if (put == 0) {
      map.erase(lines);
    } else {
      map.set(lines, put);
    }
    for (LineNo line = lines.first; line <= lines.last; ++line) plain[line] = put;

    Plain seen{};
    LineNo next = 1;
    map.each([&](LineRange at, int held) {
      RC_ASSERT(at.first >= next && at.last >= at.first);
      next = at.last + 1;
      for (LineNo line = at.first; line <= at.last; ++line) seen[line] = held;
    });
    RC_ASSERT(seen == plain);

    const LineRange asked{1 + value % kLines, std::min<LineNo>(kLines, value % kLines + what % 12)};
    Plain in_asked{}, expected{};
    bool all = true, any = false;
    for (LineNo line = asked.first; line <= asked.last; ++line) {
      expected[line] = plain[line];
      all = all && plain[line] != 0;
      any = any || plain[line] != 0;
    }
    for (const auto& hit : map.in(asked)) {
      RC_ASSERT(common(hit.lines, asked) == hit.lines);
      for (LineNo line = hit.lines.first; line <= hit.lines.last; ++line) in_asked[line] = hit.value;
    }
    RC_ASSERT(in_asked == expected);
    RC_ASSERT(map.covers(asked) == all);
    RC_ASSERT(map.touches(asked) == any);
  }
}

}  // namespace
}  // namespace weir
