#include "readcache/lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace weir {
namespace {

using ::testing::ElementsAre;

std::vector<std::string_view> lines_of(std::string_view text) {
  const LineTable table(text);
  std::vector<std::string_view> lines;
  for (LineNo line = 1; line <= table.count(); ++line) lines.push_back(table.text(line));
  return lines;
}

TEST(LineTableTest, AFinalLineFeedMakesOneMoreEmptyLine) {
  EXPECT_THAT(lines_of(""), ElementsAre(""));
  EXPECT_THAT(lines_of(std::string_view()), ElementsAre(""));
  EXPECT_THAT(lines_of("a"), ElementsAre("a"));
  EXPECT_THAT(lines_of("a\n"), ElementsAre("a", ""));
  EXPECT_THAT(lines_of("\n\n"), ElementsAre("", "", ""));
  EXPECT_THAT(lines_of("a\n\nb"), ElementsAre("a", "", "b"));
}

TEST(LineTableTest, ACarriageReturnAndANulBelongToTheirLine) {
  EXPECT_THAT(lines_of(std::string_view("a\r\nb\rc\0d\r\n", 10)), ElementsAre("a\r", std::string_view("b\rc\0d\r", 6), ""));
}

TEST(LineTableTest, PatchDoesNotCountTheEmptyLastLine) {
  EXPECT_EQ(LineTable("").patch_count(), 0u);
  EXPECT_EQ(LineTable("a").patch_count(), 1u);
  EXPECT_EQ(LineTable("a\n").patch_count(), 1u);
  EXPECT_EQ(LineTable("\n").patch_count(), 1u);
  EXPECT_EQ(LineTable("a\n\n").patch_count(), 2u);
  EXPECT_EQ(LineTable("a\nb").patch_count(), 2u);
}

TEST(LineTableTest, ARangeIsTheTextBetweenItsEnds) {
  const LineTable table("one\ntwo\n\nfour\n");
  EXPECT_EQ(table.text({1, 5}), "one\ntwo\n\nfour\n");
  EXPECT_EQ(table.text({1, 4}), "one\ntwo\n\nfour");
  EXPECT_EQ(table.text({2, 3}), "two\n");
  EXPECT_EQ(table.text({5, 5}), "");
  EXPECT_EQ(table.with_end(2), "two\n");
  EXPECT_EQ(table.with_end(5), "");
  EXPECT_EQ(LineTable("x\ny").with_end(2), "y");
}

TEST(LineSliceTest, KnowsWhereItEndsForPatch) {
  const LineTable table("one\ntwo\n");  // three lines, two for patch
  EXPECT_EQ(LineSlice(table).patch_end(), 3u);
  EXPECT_TRUE(LineSlice(table).has_empty_end());
  EXPECT_EQ(LineSlice(table, {1, 1}).patch_end(), 2u);
  EXPECT_FALSE(LineSlice(table, {1, 2}).has_empty_end());
  EXPECT_EQ(LineSlice(table, {3, 3}).patch_end(), 3u);
  EXPECT_TRUE(LineSlice(table, {3, 3}).has_empty_end());
  // A range that starts beyond the text.
  EXPECT_EQ(LineSlice(table, {7, 3}).patch_end(), 7u);
  EXPECT_FALSE(LineSlice(table, {7, 3}).has_empty_end());
}

TEST(LineRangeTest, RangesThatTouchBecomeOne) {
  std::vector<LineRange> ranges;
  for (const LineRange range : {LineRange{2, 3}, {4, 4}, {4, 6}, {9, 8}, {8, 9}, {11, 11}}) append_range(ranges, range);
  EXPECT_THAT(ranges, ElementsAre(LineRange{2, 6}, LineRange{8, 9}, LineRange{11, 11}));
}

}  // namespace
}  // namespace weir
