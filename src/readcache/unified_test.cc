#include "readcache/unified.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "base/sha256.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr AnswerLimits kDefault{51200, 2000};
constexpr AnswerLimits kNone{std::numeric_limits<std::size_t>::max(), std::numeric_limits<std::size_t>::max()};

UnifiedDiff diff(const LineSlice& base, const LineSlice& current, std::string_view path = "f") {
  const LineDiff script = diff_lines(base, current, 20'000'000, [] { return false; });
  EXPECT_EQ(script.outcome, DiffOutcome::ok);
  return unified_diff(path, base, current, script.edits);
}
UnifiedDiff diff(const std::string& base, const std::string& current, std::string_view path = "f") {
  return diff(LineTable(base), LineTable(current), path);
}

std::vector<LineRange> shown(const UnifiedDiff& diff) {
  std::vector<LineRange> ranges;
  for (const Hunk& hunk : diff.hunks) append_range(ranges, hunk.shown);
  return ranges;
}

std::string joined(const std::vector<std::string>& lines) { return fmt::format("{}", fmt::join(lines, "\n")); }

std::vector<std::string> numbered(int count, const char* format) {
  std::vector<std::string> lines;
  for (int i = 1; i <= count; ++i) lines.push_back(fmt::format(fmt::runtime(format), i));
  return lines;
}

TEST(UnifiedTest, ExampleOneOfTheContract) {
  std::vector<std::string> lines = numbered(300, "line {} :: original text payload");
  const std::string base = joined(lines);
  lines[199] = "line 200 :: changed text payload";
  const std::string current = joined(lines);
  EXPECT_EQ(base.size(), 10'091u);
  EXPECT_THAT(sha256(base).hex(), StartsWith("2d84bc521b5c"));
  EXPECT_THAT(sha256(current).hex(), StartsWith("b0accfdc76c9"));

  const UnifiedDiff whole = diff(base, current, "sample.txt");
  EXPECT_TRUE(is_useful(whole, base.size(), current.size(), 300));
  const auto answer = cut_diff(whole, 300, kDefault);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->text.size(), 368u);
  EXPECT_EQ(sha256(answer->text).hex(), "deeb7779953840daaf1fdc2ad22003b104e15ef93202770e522e8468c4fd687d");
  EXPECT_THAT(answer->shown, ElementsAre(LineRange{197, 203}));
  EXPECT_THAT(answer->known, ElementsAre(LineRange{1, 300}));
  EXPECT_EQ(answer->hunks, 1u);
}

TEST(UnifiedTest, ExampleTwoOfTheContractIsCutAfter67Hunks) {
  std::vector<std::string> lines =
      numbered(11'990, "line {:06} lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor");
  const std::string base = joined(lines);
  for (std::size_t k = 0; k < 100; ++k) {
    std::string& line = lines[(2 * k + 1) * 11'990 / 200];
    line = fmt::format("EDITED {} {}", k, line);
  }
  const UnifiedDiff whole = diff(base, joined(lines), "m.txt");
  EXPECT_EQ(whole.text.size(), 75'229u);
  EXPECT_EQ(whole.hunks.size(), 100u);
  EXPECT_EQ(whole.changed_lines(), 100u);

  const auto answer = cut_diff(whole, 11'990, kDefault);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->hunks, 67u);
  EXPECT_EQ(answer->text.size(), 50'725u);
  EXPECT_EQ(sha256(answer->text).hex(), "f4a5a95c4de91b91935144a3baea5a90260759c9ac78dc7fc79e422818dfa8a9");
  EXPECT_THAT(answer->text, HasSubstr("also changed: lines 8094, 8214, "));
  EXPECT_THAT(answer->text, EndsWith(", 11931. Use offset and limit to read them.]"));
  EXPECT_EQ(answer->shown.size(), 67u);
  ASSERT_EQ(answer->known.size(), 34u);
  EXPECT_EQ(answer->known[0], (LineRange{1, 8093}));
  EXPECT_EQ(answer->known[1], (LineRange{8095, 8213}));
  EXPECT_EQ(answer->known[33], (LineRange{11'932, 11'990}));
}

TEST(UnifiedTest, SixKeptLinesJoinTwoEditsAndSevenPartThem) {
  const auto edited = [](std::size_t second) {
    std::vector<std::string> lines = numbered(30, "{}");
    lines[9] = "x";
    lines[second - 1] = "y";
    return joined(lines);
  };
  const std::string base = joined(numbered(30, "{}"));
  EXPECT_THAT(shown(diff(base, edited(17))), ElementsAre(LineRange{7, 20}));
  const UnifiedDiff apart = diff(base, edited(18));
  EXPECT_THAT(shown(apart), ElementsAre(LineRange{7, 13}, LineRange{15, 21}));
  EXPECT_EQ(apart.text.substr(apart.hunks[1].begin), "@@ -15,7 +15,7 @@\n 15\n 16\n 17\n-18\n+y\n 19\n 20\n 21");
  EXPECT_EQ(apart.text[apart.hunks[0].end], '\n');
  EXPECT_EQ(apart.lines(), 2u + 9 + 9);
}

TEST(UnifiedTest, CarriageReturnsStayInTheDiff) {
  const UnifiedDiff to_lf = diff("a\r\nb\r\nc\r\n", "a\r\nb\nc\r\n");
  EXPECT_EQ(to_lf.text, "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\r\n-b\r\n+b\n c\r");
}

TEST(UnifiedTest, RemovingAByteOrderMarkChangesLineOne) {
  const UnifiedDiff without = diff(
      "\xEF\xBB\xBF"
      "a\nb\n",
      "a\nb\n");
  EXPECT_EQ(without.text,
            "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-\xEF\xBB\xBF"
            "a\n+a\n b");
  EXPECT_THAT(without.hunks[0].changed, ElementsAre(LineRange{1, 1}));
}

TEST(UnifiedTest, AnEmptyBaseIsABase) {
  const UnifiedDiff from_nothing = diff("", "a\nb");
  EXPECT_EQ(from_nothing.text, "--- a/f\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file");
  EXPECT_THAT(shown(from_nothing), ElementsAre(LineRange{1, 2}));
  EXPECT_EQ(from_nothing.lines(), 6u);
}

TEST(UnifiedTest, LinesThatLookLikeHeadersCountAsWhatTheyAre) {
  const UnifiedDiff lookalike = diff("a\n-- x\nb\n", "a\n++ y\nb\n");
  EXPECT_THAT(lookalike.text, HasSubstr("\n--- x\n+++ y\n"));
  EXPECT_EQ(lookalike.changed_lines(), 1u);
  EXPECT_THAT(cut_diff(lookalike, 4, kNone)->text, StartsWith("[readcache: 1 lines changed of 4]\n--- a/f\n"));
}

TEST(UnifiedTest, ChangedLinesAreTheLargerOfAddedAndRemoved) {
  const UnifiedDiff mixed = diff("a\nb\nc\nd\n", "x\ny\nz\nc\n");
  EXPECT_EQ(mixed.added, 3u);
  EXPECT_EQ(mixed.removed, 3u);
  EXPECT_EQ(mixed.changed_lines(), 3u);
  EXPECT_EQ(diff("a\nb\nc\n", "c\n").changed_lines(), 2u);
}

TEST(UnifiedTest, BlankContextIsOneSpace) { EXPECT_EQ(diff("a\n\n\n", "b\n\n\n").text, "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n-a\n+b\n \n "); }

TEST(UnifiedTest, HeadersNameThePathForPatch) {
  const auto header = [](std::string_view path) {
    const std::string text = diff("a", "b", path).text;
    return text.substr(0, text.find('\n'));
  };
  EXPECT_EQ(header("src/a.cc"), "--- a/src/a.cc");
  EXPECT_EQ(header("/src/a.cc"), "--- a/src/a.cc");
  EXPECT_EQ(header("//src/a.cc"), "--- a/src/a.cc");
  EXPECT_EQ(header("a\tb\rc\nd"), "--- a/a_b_c_d");
  EXPECT_EQ(header("my file"), "--- a/my file\t");
  EXPECT_EQ(header(""), "--- a/unknown");
  EXPECT_EQ(header("/"), "--- a/unknown");
}

TEST(UnifiedTest, NoEditsGiveNoTextAndNoAnswer) {
  const UnifiedDiff none = diff("a\n", "a\n");
  EXPECT_EQ(none.text, "");
  EXPECT_FALSE(cut_diff(none, 2, kNone));
  EXPECT_FALSE(whole_range_diff(none, {1, 2}, 2, kNone));
}

// `total` counts the empty line after a final line feed; patch does not.
TEST(UnifiedTest, TheEmptyLastLineIsShownOnlyByAHunkThatMakesIt) {
  EXPECT_THAT(shown(diff("a\nb\n", "a\nc\n")), ElementsAre(LineRange{1, 2}));  // kept: held from base
  EXPECT_THAT(shown(diff("a\nb", "a\nb\n")), ElementsAre(LineRange{1, 3}));
  EXPECT_THAT(shown(diff("a\nb\n", "a\nb")), ElementsAre(LineRange{1, 2}));
  EXPECT_THAT(shown(diff("a\nb", "a\nc")), ElementsAre(LineRange{1, 2}));
  EXPECT_THAT(shown(diff("a", "")), ElementsAre(LineRange{1, 1}));
  EXPECT_THAT(shown(diff("a\n", "")), IsEmpty());
  EXPECT_THAT(shown(diff("", "a\n")), ElementsAre(LineRange{1, 1}));
}

TEST(UnifiedTest, AnUnsentHunkThatMakesTheEmptyLastLineNamesIt) {
  std::vector<std::string> lines = numbered(30, "{}");
  const std::string base = joined(lines);
  lines[4] = "x";
  const auto answer = cut_diff(diff(base, joined(lines) + "\n"), 31, {10'000, 13});
  ASSERT_TRUE(answer);
  EXPECT_THAT(answer->text, EndsWith("[readcache: 1 of 2 hunks shown; also changed: lines 30-31. Use offset and limit to read them.]"));
  EXPECT_THAT(answer->known, ElementsAre(LineRange{1, 29}));
}

TEST(UnifiedTest, APureDeletionNamesTheLinesAroundIt) {
  const auto changed = [](const std::string& base, const std::string& current) { return diff(base, current).hunks.at(0).changed; };
  EXPECT_THAT(changed("1\n2\n3\n4\n", "1\n2\n4\n"), ElementsAre(LineRange{2, 3}));
  EXPECT_THAT(changed("1\n2\n3\n", "2\n3\n"), ElementsAre(LineRange{1, 1}));
  EXPECT_THAT(changed("1\n2\n3\n", "1\n2\n"), ElementsAre(LineRange{2, 3}));
  EXPECT_THAT(changed("1\n2\n", ""), ElementsAre(LineRange{1, 1}));
  EXPECT_THAT(changed("1\n2\n3\n4\n5\n", "1\n2\n4\nFIVE\n"), ElementsAre(LineRange{2, 4}));  // 2-3 and 4 touch
}

TEST(UnifiedTest, ARangeIsNumberedAsInTheFile) {
  std::vector<std::string> lines = numbered(50, "{}");
  const std::string base = joined(lines);
  lines[24] = "x";
  lines.insert(lines.begin() + 29, "new");
  const std::string current = joined(lines);
  const LineTable a(base), b(current);
  const UnifiedDiff range = diff({a, {24, 40}}, {b, {24, 40}});
  EXPECT_EQ(
      range.text,
      "--- a/f\n+++ b/f\n@@ -24,9 +24,10 @@\n 24\n-25\n+x\n 26\n 27\n 28\n 29\n+new\n 30\n 31\n 32\n@@ -37,4 +38,3 @@\n 37\n 38\n 39\n-40");
  const auto answer = whole_range_diff(range, {24, 40}, 51, kDefault);
  ASSERT_TRUE(answer);
  EXPECT_THAT(answer->text, StartsWith("[readcache: 2 lines changed in lines 24-40 of 51]\n--- a/f\n"));
  EXPECT_THAT(answer->shown, ElementsAre(LineRange{24, 33}, LineRange{38, 40}));
  EXPECT_THAT(answer->known, ElementsAre(LineRange{24, 40}));
  EXPECT_FALSE(whole_range_diff(range, {24, 40}, 51, {answer->text.size() - 1, 2000}));
}

TEST(UnifiedTest, ARangeMayReachPastTheEndOfItsBase) {
  const LineTable a("1\n2\n"), b("1\n2\n3\n4\n");
  EXPECT_EQ(diff({a, {2, 3}}, {b, {2, 5}}).text, "--- a/f\n+++ b/f\n@@ -2,1 +2,3 @@\n 2\n+3\n+4");
  const UnifiedDiff beyond = diff({a, {4, 3}}, {b, {4, 5}});
  EXPECT_EQ(beyond.text, "--- a/f\n+++ b/f\n@@ -3,0 +4,1 @@\n+4");
  // Nothing in it says that the text ends with a line feed: that takes an old end without one.
  EXPECT_THAT(shown(beyond), ElementsAre(LineRange{4, 4}));
}

// A file that shrank so that the range now ends with its empty last line: no hunk is near, no base line is its partner.
TEST(UnifiedTest, ARangeNeverClaimsAnEmptyLastLineTheReaderHasNot) {
  const std::string base = joined(numbered(20, "{}"));
  std::vector<std::string> lines = numbered(11, "{}");
  lines.erase(lines.begin());
  const std::string current = joined(lines) + "\n";
  const LineTable a(base), b(current);
  const LineSlice from(a, {1, 11}), to(b, {1, 11});
  const LineDiff script = diff_lines(from, to, 1000, [] { return false; });
  EXPECT_THAT(shown(unified_diff("f", from, to, script.edits)), ElementsAre(LineRange{1, 3}));
  EXPECT_THAT(kept_lines(from, to, script.edits), ElementsAre(KeptLines{2, 1, 10}));
}

TEST(UnifiedTest, UsefulMeansSmallerByBothMeasures) {
  const UnifiedDiff one = diff("a\nb\nc\n", "a\nB\nc\n");
  ASSERT_EQ(one.lines(), 7u);
  const std::size_t bytes = one.text.size();
  EXPECT_TRUE(is_useful(one, bytes * 2, 0, 100));
  EXPECT_TRUE(is_useful(one, 0, bytes * 2, 100));
  EXPECT_FALSE(is_useful(one, bytes, bytes, 100));
  EXPECT_FALSE(is_useful(one, bytes * 2, bytes * 2, 8));
  EXPECT_TRUE(is_useful(one, bytes * 2, bytes * 2, 9));
  EXPECT_TRUE(is_useful(one, bytes + 1, 0, 7, {1.0, 1.0}));
  EXPECT_FALSE(is_useful(one, bytes, 0, 7, {1.0, 1.0}));
  EXPECT_FALSE(is_useful(one, bytes + 1, 0, 6, {1.0, 1.0}));
}

// Every tenth of 2,000 lines changed, every hundredth removed.
class CutDiffTest : public ::testing::Test {
 protected:
  CutDiffTest() {
    std::vector<std::string> lines = numbered(2000, "line {}");
    base_ = joined(lines);
    std::vector<std::string> edited;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (i % 100 == 55) continue;
      edited.push_back(i % 10 == 5 ? "edited " + lines[i] : lines[i]);
    }
    total_ = static_cast<LineNo>(edited.size());
    diff_ = diff(base_, joined(edited));
  }
  std::string base_;
  LineNo total_ = 0;
  UnifiedDiff diff_;
};

TEST_F(CutDiffTest, TakesTheLargestNumberOfHunksThatFits) {
  std::size_t before = 0;
  for (std::size_t max_bytes = 0; max_bytes < diff_.text.size() + 200; max_bytes += 97) {
    const auto answer = cut_diff(diff_, total_, {max_bytes, 100'000});
    if (!answer) {
      EXPECT_EQ(before, 0u);
      continue;
    }
    EXPECT_LE(answer->text.size(), max_bytes);
    EXPECT_GE(answer->hunks, before);
    before = answer->hunks;
    // One byte less than the answer has, and it would not be the answer.
    const auto smaller = cut_diff(diff_, total_, {answer->text.size() - 1, 100'000});
    EXPECT_LT(smaller ? smaller->hunks : 0, answer->hunks);
  }
  EXPECT_EQ(before, diff_.hunks.size());
}

TEST_F(CutDiffTest, CountsTheLinesOfMarkerAndTrailer) {
  const std::size_t lines = diff_.hunks[9].diff_lines + 2;
  EXPECT_EQ(cut_diff(diff_, total_, {100'000, lines})->hunks, 10u);
  EXPECT_EQ(cut_diff(diff_, total_, {100'000, lines - 1})->hunks, 9u);
  EXPECT_EQ(cut_diff(diff_, total_, {100'000, diff_.lines() + 1})->hunks, diff_.hunks.size());
  EXPECT_EQ(cut_diff(diff_, total_, {100'000, diff_.lines()})->hunks, diff_.hunks.size() - 1);
  EXPECT_FALSE(cut_diff(diff_, total_, {100'000, 5}));
}

TEST_F(CutDiffTest, NamesAtMost64RangesAndTheLastSpansTheRest) {
  ASSERT_EQ(diff_.hunks.size(), 200u);
  const auto answer = cut_diff(diff_, total_, {100'000, diff_.hunks[3].diff_lines + 2});
  ASSERT_EQ(answer->hunks, 4u);
  const std::string trailer = answer->text.substr(answer->text.rfind('\n') + 1);
  EXPECT_THAT(trailer, StartsWith("[readcache: 4 of 200 hunks shown; also changed: lines 46, 55-56, 65, "));
  EXPECT_THAT(trailer, EndsWith(", 669-1976. Use offset and limit to read them.]"));
  EXPECT_EQ(std::count(trailer.begin(), trailer.end(), ','), 63);
  // Line 56 was removed, and the reader is not told: from there on it cannot know which line has which number.
  EXPECT_THAT(answer->known, ElementsAre(LineRange{1, 45}, LineRange{47, 54}));
}

TEST_F(CutDiffTest, LinesBetweenUnsentHunksAreKnownWhereNoneOfThemShifts) {
  std::vector<std::string> lines = numbered(2000, "line {}");
  const std::string base = joined(lines);
  for (std::size_t i = 5; i < lines.size(); i += 10) lines[i] = "edited " + lines[i];
  const UnifiedDiff all = diff(base, joined(lines));
  const auto answer = cut_diff(all, 2000, {100'000, all.hunks[3].diff_lines + 2});
  EXPECT_EQ(answer->hunks, 4u);
  EXPECT_EQ(answer->known.size(), 65u);
  EXPECT_EQ(answer->known.front(), (LineRange{1, 45}));
  EXPECT_EQ(answer->known.back(), (LineRange{1997, 2000}));
}

TEST_F(CutDiffTest, ShowsOnlyLinesOfTheHunksItSends) {
  const auto answer = cut_diff(diff_, total_, {1000, 1000});
  ASSERT_TRUE(answer);
  std::vector<LineRange> sent;
  for (std::size_t i = 0; i < answer->hunks; ++i) append_range(sent, diff_.hunks[i].shown);
  EXPECT_EQ(answer->shown, sent);
  EXPECT_THAT(answer->text, HasSubstr(diff_.text.substr(0, diff_.hunks[answer->hunks - 1].end) + "\n[readcache: "));
}

}  // namespace
}  // namespace weir
