#include "readcache/line_diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t kMaxCost = 20'000'000;
constexpr auto kGoOn = [] { return false; };

LineDiff diff(const std::string& a, const std::string& b, std::uint64_t max_cost = kMaxCost) {
  return diff_lines(LineTable(a), LineTable(b), max_cost, kGoOn);
}

// Up to `lines` lines of few different texts, half of them with a final line feed.
std::string random_text(std::mt19937& random, unsigned lines, unsigned texts) {
  std::string text;
  const unsigned count = random() % (lines + 1);
  for (unsigned i = 0; i < count; ++i) {
    if (i > 0) text += '\n';
    if (const unsigned kind = random() % texts; kind > 0) text += static_cast<char>('a' + kind - 1);
  }
  if (random() % 2 == 0) text += '\n';
  return text;
}

std::vector<std::string> patch_lines(const LineTable& table) {
  std::vector<std::string> lines;
  for (LineNo line = 1; line <= table.patch_count(); ++line) lines.emplace_back(table.with_end(line));
  return lines;
}

// The length of the longest common subsequence, by the table of all pairs.
std::size_t common_lines(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (const std::string& line : a) {
    std::size_t diagonal = 0;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = line == b[j - 1] ? diagonal + 1 : std::max(above, row[j - 1]);
      diagonal = above;
    }
  }
  return row[b.size()];
}

// Takes a's lines where nothing was edited and b's where something was.
std::string apply(const LineTable& a, const LineTable& b, const std::vector<Edit>& edits) {
  std::string text;
  LineNo next = 1;
  for (const Edit& edit : edits) {
    for (; next < edit.a_first; ++next) text += a.with_end(next);
    next += edit.a_count;
    for (LineNo line = edit.b_first; line < edit.b_first + edit.b_count; ++line) text += b.with_end(line);
  }
  for (; next <= a.patch_count(); ++next) text += a.with_end(next);
  return text;
}

std::string numbered_lines(int count, const std::string& word) {
  std::string text;
  for (int i = 0; i < count; ++i) text += word + " " + std::to_string(i) + "\n";
  return text;
}

TEST(LineDiffTest, EditsAreRunsInOrder) {
  EXPECT_THAT(diff("a\nb\nc\n", "a\nb\nc\n").edits, IsEmpty());
  EXPECT_THAT(diff("a\nb\nc\nd\n", "a\nX\nY\nd\n").edits, ElementsAre(Edit{2, 2, 2, 2}));
  EXPECT_THAT(diff("a\nb\nc\n", "a\nc\n").edits, ElementsAre(Edit{2, 1, 2, 0}));
  EXPECT_THAT(diff("a\nc\n", "a\nb\nc\n").edits, ElementsAre(Edit{2, 0, 2, 1}));
  EXPECT_THAT(diff("a\nb\nc\nd\ne\n", "X\na\nb\nd\nY\n").edits, ElementsAre(Edit{1, 0, 1, 1}, Edit{3, 1, 4, 0}, Edit{5, 1, 5, 1}));
}

TEST(LineDiffTest, ALineWithoutItsLineFeedIsAnotherLine) {
  EXPECT_THAT(diff("a\nb", "a\nb\n").edits, ElementsAre(Edit{2, 1, 2, 1}));
  EXPECT_THAT(diff("a\nb\n", "a\nb").edits, ElementsAre(Edit{2, 1, 2, 1}));
  EXPECT_THAT(diff("b\r\n", "b\n").edits, ElementsAre(Edit{1, 1, 1, 1}));
}

TEST(LineDiffTest, AnEmptyTextIsASide) {
  EXPECT_THAT(diff("", "").edits, IsEmpty());
  EXPECT_THAT(diff("", "a\nb").edits, ElementsAre(Edit{1, 0, 1, 2}));
  EXPECT_THAT(diff("a\nb\n", "").edits, ElementsAre(Edit{1, 2, 1, 0}));
  EXPECT_THAT(diff("", "\n").edits, ElementsAre(Edit{1, 0, 1, 1}));
}

TEST(LineDiffTest, ARangeKeepsTheFilesLineNumbers) {
  const LineTable a("x\n1\n2\n3\ny\n"), b("z\n1\nTWO\n3\nw\n");
  EXPECT_THAT(diff_lines({a, {2, 4}}, {b, {2, 4}}, kMaxCost, kGoOn).edits, ElementsAre(Edit{3, 1, 3, 1}));
  const LineTable shorter("x\n1");
  EXPECT_THAT(diff_lines({shorter, {4, 2}}, {b, {4, 5}}, kMaxCost, kGoOn).edits, ElementsAre(Edit{4, 0, 4, 2}));
}

TEST(LineDiffTest, KeptLinesPairTheEmptyLastLineOnlyIfBothSidesHaveIt) {
  const auto kept = [](const std::string& from, const std::string& to) {
    const LineTable a(from), b(to);
    return kept_lines(a, b, diff_lines(a, b, kMaxCost, kGoOn).edits);
  };
  EXPECT_THAT(kept("a\nb\n", "a\nb\n"), ElementsAre(KeptLines{1, 1, 3}));
  EXPECT_THAT(kept("a\nb\n", "X\na\nb\n"), ElementsAre(KeptLines{1, 2, 3}));
  EXPECT_THAT(kept("a\nb\n", "a\n"), ElementsAre(KeptLines{1, 1, 1}, KeptLines{3, 2, 1}));
  EXPECT_THAT(kept("a\nb", "a\nb\n"), ElementsAre(KeptLines{1, 1, 1}));
  EXPECT_THAT(kept("a\nb\n", "a\nb"), ElementsAre(KeptLines{1, 1, 1}));
  EXPECT_THAT(kept("a\n", ""), ElementsAre(KeptLines{2, 1, 1}));
  EXPECT_THAT(kept("a", ""), IsEmpty());
}

TEST(LineDiffTest, RandomScriptsAreMinimalTurnAIntoBAndRepeat) {
  std::mt19937 random(31);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same every time
  for (int round = 0; round < 20'000; ++round) {
    const unsigned texts = 1 + random() % 8;
    const std::string from = random_text(random, 24, texts), to = random_text(random, 24, texts);
    const LineTable a(from), b(to);
    const LineDiff script = diff_lines(a, b, kMaxCost, kGoOn);
    ASSERT_EQ(script.outcome, DiffOutcome::ok);
    ASSERT_EQ(apply(a, b, script.edits), to) << from << "\n---\n" << to;
    std::size_t removed = 0;
    for (const Edit& edit : script.edits) removed += edit.a_count;
    ASSERT_EQ(a.patch_count() - removed, common_lines(patch_lines(a), patch_lines(b))) << from << "\n---\n" << to;
    ASSERT_EQ(diff(from, to).edits, script.edits);
    for (const KeptLines& kept : kept_lines(a, b, script.edits)) {
      for (LineNo i = 0; i < kept.count; ++i) ASSERT_EQ(a.text(kept.a_first + i), b.text(kept.b_first + i));
    }
  }
}

TEST(LineDiffTest, LongTextsWithScatteredEditsAreExact) {
  std::string from, to;
  std::size_t changes = 0;
  for (int i = 0; i < 30'000; ++i) {
    const std::string line = "some words of a line " + std::to_string(i % 700) + "\n";
    from += line;
    if (i % 301 == 150) {
      to += "edited " + std::to_string(i) + "\n";
      ++changes;
    } else {
      to += line;
    }
  }
  const LineDiff script = diff(from, to);
  ASSERT_EQ(script.outcome, DiffOutcome::ok);
  EXPECT_EQ(script.edits.size(), changes);
  EXPECT_EQ(apply(LineTable(from), LineTable(to), script.edits), to);
}

TEST(LineDiffTest, ATotalRewriteIsOneEditWithoutSearch) {
  const LineDiff script = diff(numbered_lines(12'000, "old"), numbered_lines(12'000, "new"), 0);
  EXPECT_EQ(script.outcome, DiffOutcome::ok);
  EXPECT_THAT(script.edits, ElementsAre(Edit{1, 12'000, 1, 12'000}));
}

// The same lines in another order: nothing can be put aside, and hardly anything stays in place.
class ShuffledLinesTest : public ::testing::Test {
 protected:
  ShuffledLinesTest() {
    std::mt19937 random(33);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same every time
    std::vector<int> order(12'000);
    for (std::size_t i = 0; i < order.size(); ++i) std::swap(order[i] = static_cast<int>(i), order[random() % (i + 1)]);
    for (const int i : order) to_ += "line " + std::to_string(i) + "\n";
  }
  std::string from_ = numbered_lines(12'000, "line"), to_;
};

// Case 33, H24.
TEST_F(ShuffledLinesTest, TheCostCapEndsTheSearch) {
  const LineDiff script = diff(from_, to_);
  EXPECT_EQ(script.outcome, DiffOutcome::too_costly);
  EXPECT_THAT(script.edits, IsEmpty());
}

TEST_F(ShuffledLinesTest, StopIsHonouredAtOnce) {
  const LineTable a(from_), b(to_);
  for (const int wanted : {1, 2, 3, 40}) {
    int calls = 0;
    const LineDiff script = diff_lines(a, b, kMaxCost, [&] { return ++calls == wanted; });
    EXPECT_EQ(script.outcome, DiffOutcome::stopped);
    EXPECT_EQ(calls, wanted);
    EXPECT_THAT(script.edits, IsEmpty());
  }
}

TEST(LineDiffTest, WithinTheCostCapTheScriptIsTheOneWithoutACap) {
  const std::string from = "a\nb\nc\na\nb\nb\na\n", to = "c\nb\na\nb\na\nc\n";
  std::uint64_t enough = 0;
  while (diff(from, to, enough).outcome == DiffOutcome::too_costly) ++enough;
  EXPECT_GT(enough, 5u);
  EXPECT_LT(enough, 60u);
  EXPECT_EQ(diff(from, to, enough).edits, diff(from, to).edits);
}

}  // namespace
}  // namespace weir
