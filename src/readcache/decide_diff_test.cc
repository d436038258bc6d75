// Answers with a diff, and why there is none.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/sha256.h"
#include "readcache/decide.h"
#include "testing/cached_reader.h"
#include "testing/held_oracle.h"

namespace weir {
namespace {

using testing::brief;
using testing::CachedReader;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::kFile;
using testing::lines;
using testing::numbered;
using testing::reader_of;
using testing::show_ranges;
using ::testing::StartsWith;
using testing::with_line;

ReadOptions with_range_diff() {
  ReadOptions options;
  options.range_diff = true;
  return options;
}

TEST(DecideDiffTest, ExampleOneOfTheContract) {
  CachedReader reader;
  reader.files["/sample.txt"] = numbered(300, "line {} :: original text payload");
  EXPECT_THAT(reader.read("/sample.txt").record.served, StartsWith("2d84bc521b5c"));
  reader.files["/sample.txt"] = with_line(reader.files["/sample.txt"], 200, "line 200 :: changed text payload");
  const ReadAnswer answer = reader.read("/sample.txt");
  EXPECT_EQ(brief(answer), "diff full diff_emitted");
  EXPECT_THAT(answer.record.served, StartsWith("b0accfdc76c9"));
  EXPECT_EQ(answer.record.sent, 368u);
  EXPECT_EQ(answer.record.text_sha256, "deeb7779953840daaf1fdc2ad22003b104e15ef93202770e522e8468c4fd687d");
  EXPECT_EQ(show_ranges(answer.record.shown), "197-203");
}

class ExampleTwoTest : public ::testing::Test {
 protected:
  ExampleTwoTest() {
    reader_.files[kPath] = numbered(11'990, "line {:06} lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor");
    reader_.read(kPath);
  }
  void show_all() {
    for (std::uint64_t first = 1; first <= 11'990; first += 500) reader_.read(kPath, lines(first, first + 499));
    ASSERT_EQ(brief(reader_.read(kPath)), "unchanged full hash_match");
  }
  void edit() {
    testing::Texts text = testing::split_lines(reader_.files[kPath]);
    for (std::size_t k = 0; k < 100; ++k) {
      std::string& line = text[(2 * k + 1) * 11'990 / 200];
      line = fmt::format("EDITED {} {}", k, line);
    }
    reader_.files[kPath] = testing::join_lines(text);
  }

  const std::string kPath = "/m.txt";
  CachedReader reader_;
};

TEST_F(ExampleTwoTest, ALongDiffIsCutAndWhatItNamesIsSentWhenAskedFor) {
  show_all();
  edit();
  const ReadAnswer answer = reader_.read(kPath);
  EXPECT_EQ(brief(answer), "diff full diff_cut");
  EXPECT_EQ(answer.debug.diff_bytes, 75'229u);
  EXPECT_EQ(answer.text.size(), 50'725u);
  EXPECT_EQ(answer.record.text_sha256, "f4a5a95c4de91b91935144a3baea5a90260759c9ac78dc7fc79e422818dfa8a9");
  EXPECT_THAT(answer.text, HasSubstr("[readcache: 67 of 100 hunks shown; also changed: lines 8094, 8214, "));
  EXPECT_THAT(answer.text, EndsWith(", 11931. Use offset and limit to read them.]"));
  EXPECT_EQ(answer.record.shown.size(), 67u);
  EXPECT_EQ(brief(reader_.decide(kPath, lines(8100, 8200))), "unchanged_range r:8100:8200 hash_match");
  EXPECT_EQ(brief(reader_.decide(kPath, lines(1, 8093))), "unchanged_range r:1:8093 hash_match");
  const ReadAnswer named = reader_.read(kPath, lines(8090, 8100));
  EXPECT_EQ(brief(named), "full r:8090:8100 lines_not_shown");
  EXPECT_THAT(named.text, HasSubstr("EDITED 67 line 008094 "));
  EXPECT_EQ(brief(reader_.decide(kPath, lines(8090, 8100))), "unchanged_range r:8090:8100 hash_match");
  EXPECT_EQ(brief(reader_.decide(kPath, lines(8090, 8214))), "full r:8090:8214 lines_not_shown");
}

TEST_F(ExampleTwoTest, ABaseOfWhichOnlyTheFirstWindowWasShownGivesNoDiff) {
  edit();
  EXPECT_EQ(brief(reader_.read(kPath)), "full_fallback full base_not_shown");
  const ReadAnswer range = reader_.read(kPath, lines(6000, 6200));
  EXPECT_TRUE(is_anchor(range.record.mode)) << brief(range);
  EXPECT_THAT(range.text, StartsWith("line 006000 "));
}

TEST(DecideDiffTest, CarriageReturnsAndByteOrderMarksArePartsOfLines) {
  CachedReader reader = reader_of("\xEF\xBB\xBF" + numbered(30, "line {}\r") + "\n");
  reader.read(kFile);
  EXPECT_EQ(brief(reader.decide(kFile, lines(1, 1))), "unchanged_range r:1:1 hash_match");
  reader.files[kFile].erase(0, 3);
  EXPECT_EQ(brief(reader.decide(kFile, lines(1, 1))), "full_fallback r:1:1 range_slice_changed");
  EXPECT_EQ(brief(reader.decide(kFile, lines(2, 31))), "unchanged_range r:2:31 range_slice_unchanged");
  const ReadAnswer diff = reader.read(kFile);
  EXPECT_EQ(diff.text,
            "[readcache: 1 lines changed of 31]\n--- a/f\n+++ b/f\n@@ -1,4 +1,4 @@\n-\xEF\xBB\xBFline 1\r\n+line 1\r\n line 2\r\n line "
            "3\r\n line "
            "4\r");
}

TEST(DecideDiffTest, AnEmptyBaseIsFound) {
  CachedReader reader = reader_of("");
  EXPECT_EQ(brief(reader.read(kFile)), "full full no_base_hash");
  EXPECT_EQ(reader.read(kFile).text, "[readcache: unchanged, 1 lines]");
  reader.files[kFile] = numbered(50);
  const ReadAnswer answer = reader.read(kFile);
  EXPECT_EQ(brief(answer), "full_fallback full diff_not_useful");
  EXPECT_EQ(answer.record.base, sha256("").hex());
  EXPECT_TRUE(answer.debug.base_found);
  EXPECT_NE(answer.debug.base_object_found, std::optional(false));
}

TEST(DecideDiffTest, ALineThatLooksLikeAHeaderCountsOnce) {
  CachedReader reader = reader_of(with_line(numbered(40), 20, "-- x"));
  reader.read(kFile);
  reader.files[kFile] = with_line(numbered(40), 20, "++ y");
  const ReadAnswer answer = reader.read(kFile);
  EXPECT_THAT(answer.text, StartsWith("[readcache: 1 lines changed of 40]\n"));
  EXPECT_THAT(answer.text, HasSubstr("\n--- x\n+++ y\n"));
}

TEST(DecideDiffTest, AMissingOrDamagedBaseIsSaid) {
  CachedReader reader = reader_of(numbered(40));
  const std::string v1 = reader.read(kFile).record.served;
  reader.files[kFile] = with_line(numbered(40), 20, "x");
  EXPECT_EQ(brief(reader.decide(kFile)), "diff full diff_emitted");
  reader.damaged.insert(v1);
  const ReadAnswer damaged = reader.decide(kFile);
  EXPECT_EQ(brief(damaged), "full_fallback full base_object_damaged");
  EXPECT_EQ(damaged.text, reader.files[kFile]);
  EXPECT_EQ(brief(reader.decide(kFile, lines(1, 5))), "full_fallback r:1:5 base_object_damaged");
  reader.damaged.clear();
  reader.versions.erase(v1);
  EXPECT_EQ(brief(reader.decide(kFile)), "full_fallback full base_object_missing");
  EXPECT_EQ(brief(reader.decide(kFile, lines(1, 5))), "full_fallback r:1:5 base_object_missing");
}

TEST(DecideDiffTest, SizesAndCostsAreLimits) {
  CachedReader reader = reader_of(numbered(40));
  reader.read(kFile);
  reader.files[kFile] = with_line(with_line(numbered(40), 20, "x"), 30, "y");
  const auto reason_with = [&](auto&& change) {
    const ReadOptions before = reader.options;
    change(reader.options);
    const ReadAnswer answer = reader.decide(kFile);
    reader.options = before;
    return answer.record.reason;
  };
  EXPECT_EQ(reason_with([](ReadOptions&) {}), "diff_emitted");
  EXPECT_EQ(reason_with([](ReadOptions& o) { o.diff_max_bytes = 100; }), "diff_file_too_large_bytes");
  EXPECT_EQ(reason_with([](ReadOptions& o) { o.diff_max_lines = 39; }), "diff_file_too_large_lines");
  EXPECT_EQ(reason_with([](ReadOptions& o) { o.diff_ratios.lines = 0.2; }), "diff_not_useful");
  EXPECT_EQ(reason_with([](ReadOptions& o) { o.diff_ratios.bytes = 0.2; }), "diff_not_useful");
  EXPECT_EQ(reason_with([](ReadOptions& o) { o.answer.max_bytes = 170; }), "diff_payload_truncated");
  EXPECT_EQ(reason_with([](ReadOptions& o) { o.store_max_bytes = 10; }), "diff_file_too_large_bytes");
}

TEST(DecideDiffTest, ADiffThatCostsTooMuchIsContent) {
  CachedReader reader = reader_of("a\nb\nc\nd\ne\nf\n" + numbered(60));
  reader.read(kFile);
  reader.files[kFile] = "f\ne\nd\nc\nb\na\n" + numbered(60);
  reader.options.diff_max_cost = 1;
  EXPECT_EQ(brief(reader.decide(kFile)), "full_fallback full diff_deadline");
}

TEST(DecideDiffTest, AnOversizedLineThatChangedNamesTheSizeThoughNothingWasShown) {
  CachedReader reader = reader_of(std::string(3'000'000, 'x'));
  reader.read(kFile);
  reader.files[kFile] = std::string(3'000'000, 'y');
  const ReadAnswer answer = reader.read(kFile);
  EXPECT_EQ(brief(answer), "full_fallback full diff_file_too_large_bytes");
  EXPECT_TRUE(answer.debug.base_found);
}

TEST(DecideDiffTest, ADiffThatWasShownLiftsBlocksAndTheRestStaysBlocked) {
  CachedReader reader = reader_of(numbered(60));
  reader.read(kFile);
  reader.refresh(kFile, "r:10:40");
  reader.files[kFile] = with_line(numbered(60), 20, "x");
  EXPECT_EQ(brief(reader.read(kFile)), "diff full diff_emitted");
  EXPECT_EQ(brief(reader.decide(kFile, lines(17, 23))), "unchanged_range r:17:23 hash_match");
  EXPECT_EQ(brief(reader.decide(kFile, lines(16, 23))), "full r:16:23 blocked_by_refresh");
}

TEST(DecideDiffTest, NoDiffTakesAwayALineTheReaderSawOtherwise) {
  CachedReader reader = reader_of(numbered(30));
  reader.read(kFile);
  reader.files[kFile] = with_line(numbered(30), 15, "x");
  reader.read(kFile, lines(14, 16));
  reader.files[kFile] = with_line(numbered(30), 15, "y");
  EXPECT_EQ(brief(reader.decide(kFile)), "full_fallback full view_differs");
  reader.files[kFile] = with_line(with_line(numbered(30), 15, "x"), 16, "z");
  EXPECT_EQ(brief(reader.decide(kFile)), "diff full diff_emitted");
}

TEST(DecideDiffTest, ARangeIsADiffOnlyIfItMayBe) {
  CachedReader reader = reader_of(numbered(100));
  reader.read(kFile);
  reader.files[kFile] = with_line(numbered(100), 50, "x");
  EXPECT_EQ(brief(reader.decide(kFile, lines(30, 70))), "full_fallback r:30:70 range_slice_changed");
  reader.options = with_range_diff();
  const ReadAnswer diff = reader.read(kFile, lines(30, 70));
  EXPECT_EQ(brief(diff), "range_diff r:30:70 diff_emitted");
  EXPECT_THAT(diff.text, StartsWith("[readcache: 1 lines changed in lines 30-70 of 100]\n--- a/f\n+++ b/f\n@@ -47,7 +47,7 @@\n"));
  EXPECT_EQ(show_ranges(diff.record.shown), "47-53");
  EXPECT_EQ(brief(reader.read(kFile, lines(30, 70))), "unchanged_range r:30:70 hash_match");
  EXPECT_EQ(brief(reader.read(kFile)), "unchanged full hash_match");
}

TEST(DecideDiffTest, ARangeShownAsPartOfAnotherIsABaseForItsDiff) {
  CachedReader reader = reader_of(numbered(100), with_range_diff());
  reader.read(kFile, lines(1, 80));
  reader.files[kFile] = with_line(numbered(100), 50, "x");
  EXPECT_EQ(brief(reader.decide(kFile, lines(30, 70))), "range_diff r:30:70 diff_emitted");
  EXPECT_EQ(brief(reader.decide(kFile, lines(30, 90))), "full r:30:90 no_base_hash");
}

TEST(DecideDiffTest, AnEmptyLastLineNobodyShowedIsSent) {
  CachedReader reader = reader_of(numbered(20), with_range_diff());
  reader.read(kFile);
  // The range now ends with the empty line after the last feed.
  reader.files[kFile] = with_line(numbered(11), 1, "first") + "\n";
  const ReadAnswer answer = reader.read(kFile, lines(2, 12));
  EXPECT_TRUE(is_anchor(answer.record.mode)) << brief(answer);
}

}  // namespace
}  // namespace weir
