// Refreshes, what is no evidence, and the options that alter answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "readcache/decide.h"
#include "testing/cached_reader.h"

namespace weir {
namespace {

using testing::brief;
using testing::CachedReader;
using ::testing::EndsWith;
using testing::kFile;
using testing::lines;
using testing::numbered;
using testing::reader_of;
using testing::with_line;

// ---- refresh ----

TEST(DecideRefreshTest, ARefreshedRangeIsSentAndItsNeighboursAreNot) {
  CachedReader reader = reader_of(numbered(30));
  reader.read(kFile);
  reader.refresh(kFile, "r:10:20");
  EXPECT_EQ(brief(reader.decide(kFile, lines(10, 21))), "full r:10:21 blocked_by_refresh");
  EXPECT_EQ(brief(reader.decide(kFile, lines(11, 20))), "full r:11:20 blocked_by_refresh");
  EXPECT_EQ(brief(reader.decide(kFile, lines(20, 20))), "full r:20:20 blocked_by_refresh");
  EXPECT_EQ(brief(reader.decide(kFile, lines(5, 9))), "unchanged_range r:5:9 hash_match");
  EXPECT_EQ(brief(reader.decide(kFile, lines(21, 30))), "unchanged_range r:21:30 hash_match");
  EXPECT_EQ(brief(reader.decide(kFile)), "unchanged full hash_match");
  reader.read(kFile, lines(10, 15));
  EXPECT_EQ(brief(reader.decide(kFile, lines(10, 15))), "unchanged_range r:10:15 hash_match");
  EXPECT_EQ(brief(reader.decide(kFile, lines(10, 16))), "full r:10:16 blocked_by_refresh");
}

TEST(DecideRefreshTest, AFullMarkerLiftsNothingAndABypassedFullReadAll) {
  CachedReader reader = reader_of(numbered(30));
  reader.read(kFile);
  reader.refresh(kFile, "r:10:20");
  ASSERT_EQ(brief(reader.read(kFile)), "unchanged full hash_match");
  EXPECT_EQ(brief(reader.decide(kFile, lines(10, 20))), "full r:10:20 blocked_by_refresh");
  ASSERT_EQ(brief(reader.read(kFile, {.bypass = true})), "full full bypass_cache");
  EXPECT_EQ(brief(reader.decide(kFile, lines(10, 20))), "unchanged_range r:10:20 hash_match");
}

TEST(DecideRefreshTest, ARefreshOfTheFileSendsAllOfItAndOnlyOfIt) {
  CachedReader reader = reader_of(numbered(30));
  reader.files["/other"] = numbered(5);
  reader.read(kFile);
  reader.read("/other");
  reader.refresh(kFile);
  EXPECT_EQ(brief(reader.decide(kFile, lines(3, 4))), "full r:3:4 no_base_hash");
  EXPECT_EQ(brief(reader.read(kFile)), "full full no_base_hash");
  EXPECT_EQ(brief(reader.read(kFile)), "unchanged full hash_match");
  EXPECT_EQ(brief(reader.read("/other")), "unchanged full hash_match");
}

// ---- what is no evidence ----

TEST(DecideEvidenceTest, AnAnswerThatDidNotReachTheModelAsItWasIsSentAgain) {
  for (const char* lost : {R"({"is_error":true})", R"({"content":"shortened"})", R"({"content":[{"text":"line 1","type":"text"}]})"}) {
    CachedReader reader = reader_of(numbered(5));
    reader.read_by_message(kFile, {}, lost);
    EXPECT_EQ(brief(reader.read_by_message(kFile)), "full full no_base_hash") << lost;
    EXPECT_EQ(brief(reader.read_by_message(kFile)), "unchanged full hash_match");
  }
}

TEST(DecideEvidenceTest, AnAnswerTakenOutOfTheContextIsSentAgainOnThatBranchOnly) {
  for (const bool removal : {true, false}) {
    CachedReader reader = reader_of(numbered(30));
    const std::string v1 = reader.read(kFile).record.served;
    const EntryId read = reader.last().id;
    reader.files[kFile] = with_line(numbered(30), 7, "x");
    ASSERT_EQ(brief(reader.read(kFile)), "diff full diff_emitted");
    ASSERT_EQ(brief(reader.read(kFile, lines(3, 9))), "unchanged_range r:3:9 hash_match");
    const Seq before = reader.head;
    reader.edit_context(read, removal);
    EXPECT_TRUE(is_anchor(reader.decide(kFile).record.mode));
    EXPECT_TRUE(is_anchor(reader.decide(kFile, lines(3, 9)).record.mode));
    EXPECT_TRUE(is_anchor(reader.decide(kFile, lines(20, 22)).record.mode));
    reader.head = before;
    EXPECT_EQ(brief(reader.decide(kFile)), "unchanged full hash_match");
  }
}

// ---- options ----

TEST(DecideOptionsTest, AMarkerLongerThanTheFileIsSentUnlessAnswersMustNotGrow) {
  CachedReader reader = reader_of("a\n");
  EXPECT_EQ(brief(reader.read(kFile)), "full full no_base_hash");
  EXPECT_EQ(reader.read(kFile).text, "[readcache: unchanged, 2 lines]");
  reader.options.never_inflate = true;
  const ReadAnswer answer = reader.read(kFile);
  EXPECT_EQ(brief(answer), "full_fallback full marker_not_smaller");
  EXPECT_EQ(answer.text, "a\n");
  EXPECT_EQ(answer.record.base, answer.record.served);
}

TEST(DecideOptionsTest, WhoAsksAThirdTimeGetsTheContent) {
  CachedReader reader = reader_of(numbered(5));
  for (const char* expected :
       {"full full no_base_hash", "unchanged full hash_match", "unchanged full hash_match", "full_fallback full repeat_escape",
        "unchanged full hash_match", "unchanged full hash_match", "full_fallback full repeat_escape"})
    EXPECT_EQ(brief(reader.read(kFile)), expected);
}

TEST(DecideOptionsTest, AnotherEntryBetweenStartsTheCountAgain) {
  CachedReader reader = reader_of(numbered(5));
  reader.read(kFile);
  reader.read(kFile);
  reader.read(kFile);
  reader.append("message", R"({"content":"go on","role":"user"})");
  EXPECT_EQ(brief(reader.read(kFile)), "unchanged full hash_match");
  EXPECT_EQ(brief(reader.read(kFile)), "unchanged full hash_match");
  EXPECT_EQ(brief(reader.read(kFile)), "full_fallback full repeat_escape");
}

TEST(DecideOptionsTest, WithoutALimitThereAreMarkersForEver) {
  ReadOptions options;
  options.marker_repeat = 0;
  CachedReader reader = reader_of(numbered(5), options);
  reader.read(kFile);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(brief(reader.read(kFile)), "unchanged full hash_match");
}

TEST(DecideOptionsTest, AWindowAnswerIsRepeatedAsOftenAsAnyMarker) {
  CachedReader reader = reader_of(numbered(3000));
  for (const char* expected : {"full full no_base_hash", "unchanged_range r:1:2000 hash_match", "unchanged_range r:1:2000 hash_match",
                               "full_fallback full repeat_escape", "unchanged_range r:1:2000 hash_match"})
    EXPECT_EQ(brief(reader.read(kFile)), expected);
}

TEST(DecideOptionsTest, LocatedMarkersNameTheEntriesThatShowedTheLines) {
  ReadOptions options;
  options.located = true;
  options.marker_repeat = 0;
  CachedReader reader = reader_of(numbered(50), options);
  const auto turn = [&] { reader.append("message", R"({"content":"x","role":"assistant"})"); };
  reader.read(kFile, lines(1, 20));  // e1
  turn();
  reader.read(kFile, lines(21, 50));  // e3
  EXPECT_EQ(reader.read(kFile).text, "[readcache: unchanged, 50 lines; shown at e3, e1; bypass_cache=true sends it again]");
  turn();
  EXPECT_EQ(reader.read(kFile, lines(5, 30)).text,
            "[readcache: unchanged in lines 5-30 of 50; shown at e3, e1, 1 turn ago; bypass_cache=true sends it again]");
  EXPECT_EQ(reader.read(kFile, lines(5, 6)).text,
            "[readcache: unchanged in lines 5-6 of 50; shown at e1, 2 turns ago; bypass_cache=true sends it again]");
}

TEST(DecideOptionsTest, ABypassShowsTheLinesAnew) {
  ReadOptions options;
  options.located = true;
  CachedReader reader = reader_of(numbered(50), options);
  reader.read(kFile);
  EXPECT_EQ(brief(reader.read(kFile, {3, 4, true})), "full r:3:6 bypass_cache");
  EXPECT_EQ(reader.read(kFile, lines(3, 6)).text,
            "[readcache: unchanged in lines 3-6 of 50; shown at e2; bypass_cache=true sends it again]");
  EXPECT_EQ(reader.read(kFile, lines(2, 6)).text,
            "[readcache: unchanged in lines 2-6 of 50; shown at e2, e1; bypass_cache=true sends it again]");
}

TEST(DecideOptionsTest, ALocatedWindowAnswerKeepsItsSecondLine) {
  ReadOptions options;
  options.located = true;
  CachedReader reader = reader_of(numbered(3000), options);
  reader.read(kFile);
  EXPECT_EQ(reader.read(kFile).text,
            "[readcache: unchanged in lines 1-2000 of 3000; shown at e1; bypass_cache=true sends it again]\n"
            "[Lines 2001-3000 are not in this answer. Use offset=2001 to continue.]");
}

TEST(DecideOptionsTest, LinesInMoreVersionsThanMayBeLoadedAreSent) {
  CachedReader reader = reader_of(numbered(30));
  for (int i = 1; i <= 4; ++i) {
    reader.files[kFile] = with_line(reader.files[kFile], 30, std::to_string(i));
    reader.read(kFile, lines(i, i));
  }
  EXPECT_EQ(brief(reader.decide(kFile, lines(1, 4))), "unchanged_range r:1:4 range_slice_unchanged");
  reader.options.versions_per_read = 2;
  EXPECT_TRUE(is_anchor(reader.decide(kFile, lines(1, 4)).record.mode));
}

TEST(DecideOptionsTest, AFileTooLargeToBeKeptIsComparedByItsVersion) {
  ReadOptions options;
  options.store_max_bytes = 10;
  CachedReader reader = reader_of(numbered(30), options);
  reader.keep_versions = false;
  reader.read(kFile, lines(3, 9));
  EXPECT_EQ(brief(reader.decide(kFile, lines(4, 5))), "unchanged_range r:4:5 hash_match");
  reader.files[kFile] += "\n";
  EXPECT_TRUE(is_anchor(reader.decide(kFile, lines(4, 5)).record.mode));
}

}  // namespace
}  // namespace weir
