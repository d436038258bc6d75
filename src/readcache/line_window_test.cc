#include "readcache/line_window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "testing/results.h"

namespace weir {
namespace {

using testing::must;

LineRequest lines(std::optional<std::uint64_t> offset, std::optional<std::uint64_t> limit = std::nullopt) { return {offset, limit}; }

Selection select(const std::string& text, const LineRequest& request, std::size_t keep = 1000, std::size_t part = 1000) {
  LineWindow window(request, keep);
  for (std::size_t at = 0; at < text.size(); at += part) window.add(std::string_view(text).substr(at, part));
  return must(window.finish());
}

TEST(LineWindowTest, AFinalLineFeedMakesOneMoreEmptyLine) {
  EXPECT_EQ(select("", {}).total_lines, 1u);
  EXPECT_EQ(select("a", {}).total_lines, 1u);
  EXPECT_EQ(select("a\n", {}).total_lines, 2u);
  EXPECT_EQ(select("a\nb\n", lines(3)).head, "");
  EXPECT_TRUE(select("a\n", lines(1)).is_full());
  EXPECT_FALSE(select("a\n", lines(2)).is_full());
}

TEST(LineWindowTest, TheHeadIsBoundedAndTheRestIsCounted) {
  const Selection selection = select("x\n" + std::string(50, 'a') + "\nbb\n", lines(2), 10);
  EXPECT_EQ(selection.head, std::string(10, 'a'));
  EXPECT_EQ(selection.bytes, 54u);
  EXPECT_EQ(selection.first_line_bytes, 50u);
  EXPECT_TRUE(selection.final_newline);
}

TEST(LineWindowTest, AnOffsetBehindTheLastLineIsRefused) {
  LineWindow window(lines(9), 10);
  window.add("a\nb\nc");
  const auto refused = window.finish();
  EXPECT_EQ(testing::code(refused), "OFFSET_BEYOND_END");
  EXPECT_EQ(refused.error().message(), "Offset 9 is beyond end of file (3 lines total)");
}

TEST(LineWindowTest, HugeNumbersDoNotWrapAround) {
  EXPECT_EQ(select("a\nb", lines(2, UINT64_MAX)).end, 2u);
  EXPECT_EQ(select("a\nb", lines(1, UINT64_MAX - 1)).head, "a\nb");
  LineWindow window(lines(UINT64_MAX, UINT64_MAX), 10);
  window.add("a\n");
  EXPECT_EQ(testing::code(window.finish()), "OFFSET_BEYOND_END");
}

TEST(LineWindowTest, LineFeedsAreCountedAsOneByOne) {
  std::mt19937 random(7);
  for (std::size_t size = 0; size < 9000; size += 1 + size / 7) {
    std::string text(size, '\n');
    for (char& c : text) c = random() % 3 == 0 ? '\n' : '\xff';
    EXPECT_EQ(count_newlines(text), static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'))) << size;
  }
  EXPECT_EQ(count_newlines(std::string(100000, '\n')), 100000u);
}

// Against splitting and joining, however the text is cut into parts.
TEST(LineWindowTest, EverySelectionIsItsLinesJoined) {
  std::mt19937 random(11);
  for (int round = 0; round < 3000; ++round) {
    std::string text(random() % 40, 'x');
    for (char& c : text) c = random() % 4 == 0 ? '\n' : 'x';
    std::vector<std::string> all(1);
    for (const char c : text) {
      if (c == '\n') {
        all.emplace_back();
      } else {
        all.back() += c;
      }
    }
    const std::uint64_t start = 1 + random() % all.size(), limit = 1 + random() % 6;
    const bool limited = random() % 2 == 0;
    const std::uint64_t end = limited ? std::min<std::uint64_t>(start + limit - 1, all.size()) : all.size();
    std::string wanted;
    for (std::uint64_t line = start; line <= end; ++line) wanted += all[line - 1] + (line < end ? "\n" : "");
    const Selection got = select(text, lines(start, limited ? std::optional(limit) : std::nullopt), 1000, 1 + random() % 9);
    ASSERT_EQ(got.head, wanted) << text << " from " << start;
    ASSERT_EQ(got.bytes, wanted.size());
    ASSERT_EQ(got.first_line_bytes, all[start - 1].size());
    ASSERT_EQ(got.final_newline, wanted.ends_with('\n'));
    ASSERT_EQ(got.end, end);
    ASSERT_EQ(got.total_lines, all.size());
  }
}

}  // namespace
}  // namespace weir
