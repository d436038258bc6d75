// What a reader is answered, case by case: the file, the log before, the request, the answer.
#include "readcache/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/sha256.h"
#include "testing/cached_reader.h"

namespace weir {
namespace {

using testing::brief;
using testing::CachedReader;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::kFile;
using testing::lines;
using testing::numbered;
using testing::ReadAsk;
using testing::reader_of;
using testing::show_ranges;
using testing::show_view;
using ::testing::StartsWith;
using testing::with_line;

TEST(DecideTest, FirstAndSecondReadAreTheRecordsOfTheContract) {
  CachedReader reader;
  reader.files["/repo/a.txt"] = "alpha\nbeta\ngamma\n";
  const ReadAnswer first = reader.read("/repo/a.txt");
  EXPECT_EQ(reader.last().body,
            R"({"baseline":17,"bytes":17,"end":4,"mode":"full","path":"/repo/a.txt","reason":"no_base_hash","scope":"full","sent":17,)"
            R"("served":"4fdbc441ea7b546100e086ac1e4fc5ae6749b7314311c99db05be450eca12996","shown":[[1,4]],"start":1,)"
            R"("text_sha256":"4fdbc441ea7b546100e086ac1e4fc5ae6749b7314311c99db05be450eca12996","total_lines":4,"v":1})");
  const ReadAnswer second = reader.read("/repo/a.txt");
  EXPECT_EQ(brief(second), "unchanged full hash_match");
  EXPECT_EQ(second.text, "[readcache: unchanged, 4 lines]");
  EXPECT_EQ(second.record.base, second.record.served);
  EXPECT_EQ(second.record.sent, 31u);
  EXPECT_EQ(second.record.baseline, 17u);
  EXPECT_EQ(second.record.text_sha256, "77d7614649bb3c2feb9ea3e6b996e277b47e5f5af9b8a456373c3ca000b4af77");
  EXPECT_EQ(show_ranges(second.record.shown), "");
}

// ---- the barrier ----

TEST(DecideTest, FirstReadAfterCompactionIsBaselineEvenIfPrecompactionAnchorExists) {
  CachedReader reader = reader_of(numbered(5));
  reader.read(kFile);
  EXPECT_EQ(brief(reader.read(kFile)), "unchanged full hash_match");
  reader.compact();
  const ReadAnswer after = reader.read(kFile);
  EXPECT_EQ(brief(after), "full full no_base_hash");
  EXPECT_EQ(after.text, numbered(5));
}

TEST(DecideTest, LatestCompactionWinsWhenMultipleCompactionsExist) {
  CachedReader reader = reader_of(numbered(5));
  reader.compact();
  reader.read(kFile);
  reader.compact();
  EXPECT_EQ(brief(reader.read(kFile)), "full full no_base_hash");
  EXPECT_EQ(brief(reader.read(kFile)), "unchanged full hash_match");
}

TEST(DecideTest, TreeNavigationPreCompactionRestoresPrecompactionVisibility) {
  CachedReader reader = reader_of(numbered(5));
  reader.read(kFile);
  const Seq before = reader.head;
  reader.compact();
  EXPECT_EQ(brief(reader.decide(kFile)), "full full no_base_hash");
  reader.head = before;
  EXPECT_EQ(brief(reader.decide(kFile)), "unchanged full hash_match");
}

TEST(DecideTest, PostCompactionFirstRangeReadIsBaselineRange) {
  CachedReader reader = reader_of(numbered(9));
  reader.read(kFile, lines(3, 5));
  EXPECT_EQ(brief(reader.read(kFile, lines(3, 5))), "unchanged_range r:3:5 hash_match");
  reader.compact();
  const ReadAnswer after = reader.read(kFile, lines(3, 5));
  EXPECT_EQ(brief(after), "full r:3:5 no_base_hash");
  EXPECT_THAT(after.text, StartsWith("line 3\nline 4\nline 5\n\n["));
}

TEST(DecideTest, WhatACompactionKeptIsNoTrustUnderAnySetting) {
  for (int setting = 0; setting < 32; ++setting) {
    ReadOptions options;
    options.range_diff = setting & 1;
    options.never_inflate = setting & 2;
    options.shift_map = setting & 4;
    options.located = setting & 8;
    options.marker_repeat = setting & 16 ? 0 : 2;
    for (const char* body : {R"({"first_kept":"e1","summary":"s"})", R"({"first_kept":"e2","summary":"s"})",
                             R"({"kept":["e1"],"summary":"s"})", R"({"replacement":[{"content":"line 1\nline 2","role":"user"}]})"}) {
      CachedReader reader = reader_of(numbered(40), options);
      reader.read(kFile);
      reader.append("compaction", body);
      EXPECT_EQ(brief(reader.decide(kFile)), "full full no_base_hash") << setting << body;
      EXPECT_EQ(brief(reader.decide(kFile, lines(2, 3))), "full r:2:3 no_base_hash") << setting << body;
    }
  }
}

// ---- which lines were shown ----

TEST(DecideTest, WorkedExampleOfTheContractRowByRow) {
  CachedReader reader = reader_of(numbered(5000));
  const std::string v1 = sha256(reader.files[kFile]).hex();
  const auto view = [&] { return show_view(reader.trust(kFile)->view, {{v1, "V1"}}); };
  const ReadAnswer first = reader.read(kFile);
  EXPECT_EQ(brief(first), "full full no_base_hash");
  EXPECT_THAT(first.text, EndsWith("line 2000\n\n[Showing lines 1-2000 of 5000. Use offset=2001 to continue.]"));
  EXPECT_EQ(view(), "1-2000 V1 by e1");

  const ReadAnswer window = reader.read(kFile);
  EXPECT_EQ(brief(window), "unchanged_range r:1:2000 hash_match");
  EXPECT_EQ(window.text,
            "[readcache: unchanged in lines 1-2000 of 5000]\n[Lines 2001-5000 are not in this answer. Use offset=2001 to continue.]");
  EXPECT_EQ(view(), "1-2000 V1 by e1");

  const ReadAnswer second = reader.read(kFile, {2001});
  EXPECT_EQ(brief(second), "full r:2001:5000 lines_not_shown");
  EXPECT_THAT(second.text, StartsWith("line 2001\n"));
  EXPECT_THAT(second.text, EndsWith("line 4000\n\n[Showing lines 2001-4000 of 5000. Use offset=4001 to continue.]"));
  const ReadAnswer third = reader.read(kFile, {4001});
  EXPECT_EQ(brief(third), "full r:4001:5000 lines_not_shown");
  EXPECT_THAT(third.text, EndsWith("line 5000"));
  EXPECT_EQ(view(), "1-2000 V1 by e1; 2001-4000 V1 by e3; 4001-5000 V1 by e4");

  const ReadAnswer whole = reader.read(kFile);
  EXPECT_EQ(brief(whole), "unchanged full hash_match");
  EXPECT_EQ(whole.text, "[readcache: unchanged, 5000 lines]");

  reader.files[kFile] = with_line(reader.files[kFile], 4000, "edited");
  const ReadAnswer edited = reader.read(kFile);
  EXPECT_EQ(brief(edited), "diff full diff_emitted");
  EXPECT_EQ(edited.record.base, v1);
  EXPECT_EQ(
      edited.text,
      "[readcache: 1 lines changed of 5000]\n--- a/f\n+++ b/f\n@@ -3997,7 +3997,7 @@\n line 3997\n line 3998\n line 3999\n-line 4000\n"
      "+edited\n line 4001\n line 4002\n line 4003");
  EXPECT_EQ(show_ranges(edited.record.shown), "3997-4003");
  EXPECT_FALSE(edited.record.known);
  EXPECT_EQ(show_view(reader.trust(kFile)->view, {{edited.record.served, "V2"}}),
            "1-3996 V2 by e6; 3997-4003 V2 by e6; 4004-5000 V2 by e6");
}

TEST(DecideTest, AnEditOutsideTheShownWindowIsSaidAndItsLinesAreSent) {
  CachedReader reader = reader_of(numbered(5000));
  reader.read(kFile);
  reader.files[kFile] = with_line(reader.files[kFile], 4000, "edited");
  const ReadAnswer window = reader.read(kFile);
  EXPECT_EQ(brief(window), "unchanged_range r:1:2000 range_slice_unchanged");
  EXPECT_EQ(window.text,
            "[readcache: unchanged in lines 1-2000; changes exist outside this range]\n"
            "[Lines 2001-5000 are not in this answer. Use offset=2001 to continue.]");
  const ReadAnswer part = reader.read(kFile, lines(3990, 4010));
  EXPECT_TRUE(is_anchor(part.record.mode)) << brief(part);
  EXPECT_THAT(part.text, HasSubstr("line 3999\nedited\nline 4001"));
}

TEST(DecideTest, AFirstLineTooLongIsNeverAMarker) {
  CachedReader reader = reader_of(std::string(61'440, 'x') + "\nsecond\n");
  const std::string notice = "[Line 1 is 60.0KB, exceeds 50.0KB limit. Use bash: sed -n '1p' /f | head -c 51200]";
  for (const char* expected : {"full full no_base_hash", "full full lines_not_shown", "full full lines_not_shown"}) {
    const ReadAnswer answer = reader.read(kFile);
    EXPECT_EQ(brief(answer), expected);
    EXPECT_EQ(answer.text, notice);
    EXPECT_EQ(show_ranges(answer.record.shown), "");
  }
  EXPECT_EQ(brief(reader.read(kFile, lines(2, 2))), "full r:2:2 lines_not_shown");
}

TEST(DecideTest, ARangeThatWasCutIsKnownAsFarAsItWent) {
  CachedReader reader = reader_of(numbered(9000));
  EXPECT_EQ(brief(reader.read(kFile, {1000, 5000})), "full r:1000:5999 no_base_hash");
  const ReadAnswer again = reader.read(kFile, {1000, 5000});
  EXPECT_EQ(brief(again), "unchanged_range r:1000:2999 hash_match");
  EXPECT_EQ(again.text,
            "[readcache: unchanged in lines 1000-2999 of 9000]\n[Lines 3000-5999 are not in this answer. Use offset=3000 to continue.]");
  EXPECT_EQ(reader.read(kFile, {3000}).record.mode, ReadMode::full);
}

TEST(DecideTest, PartsAndUnionsOfShownRangesAreUnchanged) {
  CachedReader reader = reader_of(numbered(300));
  reader.read(kFile, lines(1, 100));
  const ReadAnswer part = reader.read(kFile, lines(10, 20));
  EXPECT_EQ(brief(part), "unchanged_range r:10:20 hash_match");
  EXPECT_EQ(part.text, "[readcache: unchanged in lines 10-20 of 300]");
  EXPECT_EQ(brief(reader.read(kFile, lines(101, 300))), "full r:101:300 no_base_hash");
  EXPECT_EQ(brief(reader.read(kFile, lines(50, 250))), "unchanged_range r:50:250 hash_match");
  EXPECT_EQ(brief(reader.read(kFile)), "unchanged full hash_match");
}

TEST(DecideTest, TheNewerOfRangeAndFileIsTheBase) {
  CachedReader reader = reader_of(numbered(9));
  reader.read(kFile, lines(2, 4));
  reader.files[kFile] = with_line(numbered(9), 3, "three");
  const ReadAnswer full = reader.read(kFile);
  EXPECT_EQ(brief(full), "full full no_base_hash");
  const ReadAnswer range = reader.read(kFile, lines(2, 4));
  EXPECT_EQ(brief(range), "unchanged_range r:2:4 hash_match");
  EXPECT_EQ(range.record.base, full.record.served);
}

// ---- what was shown last ----

TEST(DecideTest, ARevertInsideAShownRangeIsSent) {
  CachedReader reader = reader_of(numbered(30));
  reader.read(kFile);
  reader.files[kFile] = with_line(numbered(30), 15, "other");
  EXPECT_EQ(brief(reader.read(kFile, lines(10, 20))), "full_fallback r:10:20 range_slice_changed");
  reader.files[kFile] = numbered(30);
  EXPECT_EQ(brief(reader.read(kFile)), "full_fallback full view_differs");
  EXPECT_EQ(brief(reader.read(kFile)), "unchanged full hash_match");
}

TEST(DecideTest, LinesShiftedUnderTwoVersionsAreNoDiff) {
  CachedReader reader = reader_of(numbered(5000));
  reader.read(kFile);
  reader.files[kFile] = "on top\n" + numbered(5000);
  reader.read(kFile, lines(2001, 4000));
  reader.read(kFile, lines(4001, 5000));
  const ReadAnswer full = reader.decide(kFile);
  EXPECT_EQ(brief(full), "full_fallback full view_differs");
  const ReadAnswer last = reader.decide(kFile, lines(5001, 5001));
  EXPECT_TRUE(is_anchor(last.record.mode));
  EXPECT_EQ(last.text, "line 5000");
}

TEST(DecideTest, AFileThatLostItsTailIsNotUnchanged) {
  CachedReader reader = reader_of(numbered(100));
  reader.read(kFile);
  reader.files[kFile] = numbered(60);
  EXPECT_EQ(brief(reader.decide(kFile)), "diff full diff_emitted");
  // A marker about the last lines that are left shows no end either.
  EXPECT_EQ(brief(reader.read(kFile, lines(50, 60))), "unchanged_range r:50:60 range_slice_unchanged");
  EXPECT_EQ(brief(reader.decide(kFile)), "diff full diff_emitted");
  // Once its end was shown, the lines behind it are gone for good.
  ASSERT_EQ(brief(reader.read(kFile, {50, 11, true})), "full r:50:60 bypass_cache");
  EXPECT_FALSE(reader.trust(kFile)->view.touches({61, kLastLine}));
  reader.files[kFile] = numbered(100);
  EXPECT_TRUE(is_anchor(reader.decide(kFile, lines(61, 100)).record.mode));
}

TEST(DecideTest, LinesBehindTheEndShownSinceMakeAFileThatLostItsTail) {
  CachedReader reader = reader_of(numbered(10));
  reader.read(kFile);
  reader.files[kFile] = numbered(12);
  reader.read(kFile, lines(11, 12));
  reader.files[kFile] = numbered(10);
  EXPECT_EQ(brief(reader.read(kFile)), "full_fallback full view_differs");
  EXPECT_EQ(brief(reader.read(kFile)), "unchanged full hash_match");
}

TEST(DecideTest, AnEndAddedToTheFileIsSent) {
  CachedReader reader = reader_of(numbered(300) + "\n");
  EXPECT_EQ(brief(reader.read(kFile, {100})), "full r:100:301 no_base_hash");
  reader.files[kFile] += "line 301\n";
  EXPECT_EQ(brief(reader.decide(kFile, {100})), "full r:100:302 no_base_hash");
  EXPECT_EQ(brief(reader.decide(kFile, lines(100, 300))), "unchanged_range r:100:300 range_slice_unchanged");
  reader.options.range_diff = true;
  const ReadAnswer diff = reader.read(kFile, {100});
  EXPECT_EQ(brief(diff), "range_diff r:100:302 diff_emitted");
  EXPECT_EQ(diff.text,
            "[readcache: 1 lines changed in lines 100-302 of 302]\n--- a/f\n+++ b/f\n@@ -298,3 +298,4 @@\n line 298\n line 299\n line 300\n"
            "+line 301");
  EXPECT_EQ(brief(reader.read(kFile, {100})), "unchanged_range r:100:302 hash_match");
}

TEST(DecideTest, LinesMovedDownAreSentUnlessShiftsAreMapped) {
  CachedReader reader = reader_of(numbered(300));
  reader.read(kFile, lines(100, 200));
  reader.files[kFile] = "on top\n" + numbered(300);
  const ReadAnswer sent = reader.decide(kFile, lines(101, 201));
  EXPECT_EQ(brief(sent), "full r:101:201 no_base_hash");
  reader.options.shift_map = true;
  const ReadAnswer shifted = reader.read(kFile, lines(101, 201));
  EXPECT_EQ(brief(shifted), "unchanged_range r:101:201 shifted");
  EXPECT_EQ(shifted.text, "[readcache: unchanged in lines 101-201 of 301; shown before as lines 100-200]");
  EXPECT_EQ(shifted.record.from, (LineRange{100, 200}));
  EXPECT_EQ(brief(reader.read(kFile, lines(101, 201))), "unchanged_range r:101:201 hash_match");
}

TEST(DecideTest, AShiftedBlockIsFoundAmongItsOwnBeginnings) {
  ReadOptions options;
  options.shift_map = true;
  CachedReader reader = reader_of("a\na\na\nb\na\na\nb\nc", options);
  reader.read(kFile);
  reader.files[kFile] = "c\nc\na\na\nb\nc\nx";
  EXPECT_EQ(reader.decide(kFile, lines(3, 5)).record.from, (LineRange{2, 4}));
  EXPECT_EQ(reader.decide(kFile, lines(3, 6)).record.from, (LineRange{5, 8}));
  EXPECT_EQ(reader.decide(kFile, lines(1, 2)).record.from, std::nullopt);
}

// Minutes, if every place were compared anew.
TEST(DecideTest, AFileOfEqualLinesIsSearchedForAShiftInOnePass) {
  ReadOptions options;
  options.shift_map = true;
  options.answer = {1'000'000, 8'000'000};
  CachedReader reader = reader_of(std::string(400'000, '\n'), options);
  reader.read(kFile);
  reader.files[kFile] = std::string(200'000, '\n') + "x";
  EXPECT_TRUE(is_anchor(reader.decide(kFile, lines(100'000, 200'001)).record.mode));
}

TEST(DecideTest, NoShiftIsMappedFromLinesThatWereRefreshed) {
  ReadOptions options;
  options.shift_map = true;
  CachedReader reader = reader_of(numbered(30), options);
  reader.read(kFile);
  reader.refresh(kFile, "r:10:20");
  reader.files[kFile] = "on top\n" + numbered(30);
  EXPECT_EQ(brief(reader.decide(kFile, lines(22, 25))), "unchanged_range r:22:25 shifted");
  EXPECT_TRUE(is_anchor(reader.decide(kFile, lines(21, 25)).record.mode));
}

}  // namespace
}  // namespace weir
