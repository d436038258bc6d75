// Thousands of random diffs through the programs that define the format: patch applies them, git counts the same lines.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <sstream>
#include <string>

#include "readcache/unified.h"
#include "testing/temp_dir.h"

namespace weir {
namespace {

constexpr std::size_t kPairs = 10'000;
constexpr std::size_t kGitPairs = 2'000;  // most of the time goes into writing files

struct Pair {
  std::string name, base, current;
};

std::string random_line(std::mt19937& random) {
  static constexpr const char* kLines[] = {
      "", "", " ", "\t", "a", "b", "c", "a\r", "-- x", "++ y", "@@ -1,1 +1,1 @@", "\\ No newline at end of file", "--- a/f", "end "};
  return kLines[random() % std::size(kLines)];
}

std::string text_of(const std::vector<std::string>& lines, bool final_feed) {
  return fmt::format("{}{}", fmt::join(lines, "\n"), final_feed && !lines.empty() ? "\n" : "");
}

// A text and the same after a few edits, often at its ends; either may be empty or lack its final line feed.
Pair random_pair(std::mt19937& random, std::size_t number) {
  std::vector<std::string> lines(random() % 40);
  for (std::string& line : lines) line = random_line(random);
  Pair pair{fmt::format("f{:05}", number), text_of(lines, random() % 2 == 0), ""};
  for (unsigned edits = random() % 5; edits > 0 && !lines.empty(); --edits) {
    const auto at = lines.begin() + static_cast<std::ptrdiff_t>(random() % 3 == 0 ? lines.size() - 1 : random() % lines.size());
    switch (random() % 4) {
      case 0:
        *at = random_line(random);
        break;
      case 1:
        lines.insert(at, random_line(random));
        break;
      case 2:
        lines.erase(at, random() % 8 == 0 ? lines.end() : at + 1);
        break;
      default:
        lines.push_back(random_line(random));
        break;
    }
  }
  if (random() % 50 == 0) lines.clear();
  pair.current = text_of(lines, random() % 2 == 0);
  return pair;
}

void run(const std::string& command) {
  ASSERT_EQ(std::system(command.c_str()), 0) << command;  // NOLINT(cert-env33-c): fixed words and a directory of our own
}

class PatchTest : public ::testing::Test {
 protected:
  PatchTest() {
    std::mt19937 random(31);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same every time
    for (std::size_t i = 0; i < kPairs; ++i) {
      Pair pair = random_pair(random, i);
      const LineTable base(pair.base), current(pair.current);
      scripts_.push_back(diff_lines(base, current, 1'000'000, [] { return false; }).edits);
      diffs_.push_back(unified_diff(pair.name, base, current, scripts_.back()));
      pairs_.push_back(std::move(pair));
    }
  }

  void write(const std::string& folder, std::size_t count, std::string Pair::* side) const {
    std::filesystem::create_directory(dir_ / folder);
    for (std::size_t i = 0; i < count; ++i) testing::write_file(dir_ / (folder + "/" + pairs_[i].name), pairs_[i].*side);
  }

  testing::TempDir dir_;
  std::vector<Pair> pairs_;
  std::vector<std::vector<Edit>> scripts_;
  std::vector<UnifiedDiff> diffs_;
};

TEST_F(PatchTest, GitCountsTheSameLines) {
  write("a", kGitPairs, &Pair::base);
  write("b", kGitPairs, &Pair::current);
  run(fmt::format("cd {} && {{ git -c core.autocrlf=false diff --no-index --minimal --text --numstat a b >numstat || [ $? = 1 ]; }}",
                  dir_.path()));
  std::istringstream numstat(testing::read_file(dir_ / "numstat"));
  std::map<std::string, std::pair<LineNo, LineNo>> counts;
  LineNo added, removed;
  for (std::string name; numstat >> added >> removed && std::getline(numstat, name);) {
    counts[name.substr(name.rfind('/') + 1).substr(0, 6)] = {added, removed};
  }
  std::size_t differing = 0;
  for (std::size_t i = 0; i < kGitPairs; ++i) {
    if (pairs_[i].base == pairs_[i].current) continue;
    ++differing;
    ASSERT_EQ(counts[pairs_[i].name], std::pair(diffs_[i].added, diffs_[i].removed)) << pairs_[i].base << "\n---\n" << pairs_[i].current;
  }
  EXPECT_EQ(counts.size(), differing);
}

TEST_F(PatchTest, PatchTurnsEveryBaseIntoItsCurrent) {
  write("a", kPairs, &Pair::base);
  std::string all;
  for (const UnifiedDiff& diff : diffs_) {
    if (!diff.hunks.empty()) all += diff.text + "\n";
  }
  testing::write_file(dir_ / "all.patch", all);
  run(fmt::format("cd {}/a && LC_ALL=C patch -p1 --fuzz=0 --no-backup-if-mismatch <../all.patch >../log", dir_.path()));
  for (const Pair& pair : pairs_) {
    ASSERT_EQ(testing::read_file(dir_ / ("a/" + pair.name)), pair.current) << pair.base << "\n---\n" << pair.current;
  }
  EXPECT_EQ(testing::read_file(dir_ / "log").find("offset"), std::string::npos);
}

// What `shown` claims, read back from the text of the diff.
TEST_F(PatchTest, EveryHunkHoldsTheTextOfTheLinesItShows) {
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    const LineTable base(pairs_[i].base), current(pairs_[i].current);
    for (const Hunk& hunk : diffs_[i].hunks) {
      const LineTable text(std::string_view(diffs_[i].text).substr(hunk.begin, hunk.end - hunk.begin));
      std::vector<std::string_view> held;
      for (LineNo line = 2; line <= text.count(); ++line) {
        if (const char sign = text.text(line).front(); sign == ' ' || sign == '+') held.push_back(text.text(line).substr(1));
      }
      // The end of a file that now has a final line feed and had none.
      if (hunk.shown.last > current.patch_count()) {
        ASSERT_EQ(hunk.shown.last, current.count());
        ASSERT_EQ(base.patch_count(), base.count());
        held.emplace_back();
      }
      ASSERT_EQ(held.size(), hunk.shown.count());
      for (LineNo line = hunk.shown.first; line <= hunk.shown.last; ++line) ASSERT_EQ(held[line - hunk.shown.first], current.text(line));
    }
  }
}

// With the shown lines and the kept ones a reader of base has all of current, the empty last line included.
TEST_F(PatchTest, ShownAndKeptLinesAreTheWholeFile) {
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    const LineTable base(pairs_[i].base), current(pairs_[i].current);
    std::vector<char> held(current.count());
    const auto hold = [&held](LineNo first, LineNo count) { std::fill_n(held.begin() + first - 1, count, 1); };
    for (const KeptLines& kept : kept_lines(base, current, scripts_[i])) hold(kept.b_first, kept.count);
    for (const Hunk& hunk : diffs_[i].hunks) hold(hunk.shown.first, hunk.shown.count());
    ASSERT_EQ(std::count(held.begin(), held.end(), 0), 0) << pairs_[i].base << "\n---\n" << pairs_[i].current;
  }
}

// The same for every cut: what is neither sent nor kept is named, so that nobody believes the reader has it.
TEST_F(PatchTest, ACutDiffClaimsOnlyShownAndKeptLines) {
  std::size_t cuts = 0;
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    const LineTable base(pairs_[i].base), current(pairs_[i].current);
    for (std::size_t sent = 1; sent < diffs_[i].hunks.size(); ++sent) {
      const auto answer = cut_diff(diffs_[i], current.count(), {10'000, diffs_[i].hunks[sent - 1].diff_lines + 2});
      ASSERT_TRUE(answer && answer->hunks == sent);
      std::vector<LineRange> held = answer->shown;
      for (const KeptLines& kept : kept_lines(base, current, scripts_[i])) held.push_back({kept.b_first, kept.b_first + kept.count - 1});
      for (const LineRange known : answer->known) {
        for (LineNo line = known.first; line <= known.last; ++line) {
          ASSERT_TRUE(std::any_of(held.begin(), held.end(), [&](LineRange range) { return range.first <= line && line <= range.last; }))
              << line << "\n"
              << pairs_[i].base << "\n---\n"
              << pairs_[i].current;
        }
      }
      ++cuts;
    }
  }
  EXPECT_GT(cuts, 1000u);
}

}  // namespace
}  // namespace weir
