#include "research/citations.h"

#include <gtest/gtest.h>

namespace weir::research {
namespace {

std::string cited(std::string_view text) {
  std::string out;
  for (const Mention& mention : mentions_in(text).found) {
    out += "[";
    for (const std::string_view id : mention.ids) out.append(id).append(" ");
    out += "]";
  }
  return out;
}

TEST(PoolTest, RecordsStandInTOrderAndOnlyValidAndPaywalledOnesAreValidated) {
  const Pool pool({{"cid_b", "valid"}, {"cid_a", "blocked"}, {"cid_C", "paywalled"}});
  ASSERT_EQ(pool.records().size(), 3u);
  EXPECT_EQ(pool.records()[0].cid, "cid_a");
  EXPECT_EQ(pool.records()[2].cid, "cid_C");
  EXPECT_TRUE(pool.validated("cid_b"));
  EXPECT_TRUE(pool.validated("cid_C"));
  EXPECT_FALSE(pool.validated("cid_a"));
  EXPECT_FALSE(pool.validated("cid_c"));
  EXPECT_NE(pool.find("cid_a"), nullptr);
  EXPECT_EQ(Pool().find(""), nullptr);
}

TEST(MentionsTest, Case17TwoIdsInOneMentionAreBothCited) {
  EXPECT_EQ(cited("x [@a; @b] [@c:1_-]"), "[a b ][c:1_- ]");
  EXPECT_EQ(cited("[[@a]]([@b;\n  @c; @d])"), "[a ][b c d ]");
}

TEST(MentionsTest, Case17AnythingElseThatBeginsLikeAMentionIsPlainText) {
  const Mentions none = mentions_in("[@a b] [@] [@a;] [@a,@b] [@a;b] [@a;@b] [@ü] [@a");
  EXPECT_TRUE(none.found.empty());
  EXPECT_EQ(none.malformed, 8u);
  EXPECT_EQ(mentions_in("[@[@a]").malformed, 1u);
  EXPECT_EQ(cited("[@[@a]"), "[a ]");
}

TEST(RawUrlTest, Case17AnySchemeAndWwwInAnyCaseAreUrls) {
  const auto at = [](std::string_view text) { return static_cast<int>(find_raw_url(text)); };
  EXPECT_EQ(at("see https://x.org"), 4);
  EXPECT_EQ(at("HTTP://X"), 0);
  EXPECT_EQ(at("(ftp://e.com)"), 1);
  EXPECT_EQ(at("a git+ssh://h"), 2);
  EXPECT_EQ(at("see www.x.org"), 4);
  EXPECT_EQ(at("WwW.9"), 0);
  EXPECT_EQ(at("www.é"), 0);
  for (const char* text : {"//e.com", "://x", "1://x", "a: //b", "www.", "www. x", "ww.x", "mailto:a@b", "a:/b", "www.…"})
    EXPECT_EQ(at(text), -1) << text;
  EXPECT_EQ(find_raw_url("http://a http://b", 7), 9u);
}

std::string numbers(std::string_view text) {
  std::string out;
  for (const std::string& number : numbers_in(text)) out += number + " ";
  return out;
}

TEST(NumbersTest, NumbersLoseCommasSignsAndZerosThatSayNothing) {
  EXPECT_EQ(numbers("fell by 12%, -3.50 to $1,234,567.80 and 007"), "12 3.5 1234567.8 7 ");
  EXPECT_EQ(numbers("0 0.0 00.50 100 1000.00"), "0 0 0.5 100 1000 ");
  EXPECT_EQ(numbers("1,23 1,2345 12,345"), "1 23 1 2345 12345 ");
  EXPECT_EQ(numbers("ends with 12.5. And 3."), "12.5 3 ");
  EXPECT_EQ(numbers("2019-2020, 10-K, 3/4"), "2019 2020 10 3 4 ");
}

TEST(NumbersTest, Case33NamesWithDigitsAndVersionsAreNoNumbers) {
  EXPECT_EQ(numbers("HTTP3 v2 3rd HTTP/3 UTF-8 1.2.3 192.168.0.1 x_1 1_x 5µm 5mm é5 v1.5 0x1F 2e5"), "");
  EXPECT_EQ(numbers("增长了12%的 2020년"), "12 2020 ");
}

TEST(NumbersTest, MentionsMarksListMarkersAndInlineCodeDoNotCount) {
  EXPECT_EQ(numbers("1. costs 99 [@cid_7] (confidence: 85)"), "99 ");
  EXPECT_EQ(numbers("- 5 `6` ``7 ` 8`` 9 `10"), "5 9 10 ");
  EXPECT_EQ(numbers("a 1\n2) b 3\n  4. c"), "1 3 ");
  EXPECT_EQ(numbers("12[@a]34"), "12 34 ");
}

TEST(ConfidenceTest, AMarkHoldsANumberAndWordsMakeItPlainText) {
  const auto marks = confidence_marks_in(
      "(confidence: 85) (Confidence:7.5) (confidence: 101) (confidence: -1) (confidence: 85%) (confidence: high) (confidence: 3");
  ASSERT_EQ(marks.size(), 5u);
  EXPECT_EQ(marks[0].value, 85);
  EXPECT_EQ(marks[0].end, 16u);
  EXPECT_EQ(marks[1].value, 7.5);
  EXPECT_EQ(marks[2].value, std::nullopt);
  EXPECT_EQ(marks[3].written, "-1");
  EXPECT_EQ(marks[4].value, std::nullopt);
}

}  // namespace
}  // namespace weir::research
