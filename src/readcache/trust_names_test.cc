// Names that lead elsewhere: what a reader holds, it holds under the name it asked for.
#include <gtest/gtest.h>

#include "readcache/trust.h"
#include "testing/cached_reader.h"
#include "testing/rows.h"

namespace weir {
namespace {

using testing::brief;
using testing::CachedReader;
using testing::numbered;
using testing::with_line;

constexpr LineRange kWhole{1, 41};

class NamesTest : public ::testing::Test {
 protected:
  NamesTest() {
    log_.files = {{"/a", numbered(41, "of a {}")}, {"/b", numbered(41, "of b {}")}};
    log_.links["/current"] = "/a";
  }
  std::string read(const std::string& name) { return brief(log_.read(name)); }

  CachedReader log_;
};

TEST_F(NamesTest, ALinkToWhatIsHeldIsHeld) {
  EXPECT_EQ(read("/a"), "full full no_base_hash");
  EXPECT_EQ(read("/current"), "unchanged full hash_match");
  EXPECT_EQ(read("/a"), "unchanged full hash_match");
}

TEST_F(NamesTest, ALinkThatNowLeadsToAnotherFileIsContentThoughThatFileIsHeld) {
  read("/b");
  read("/current");
  log_.links["/current"] = "/b";
  EXPECT_EQ(read("/current"), "full_fallback full name_moved");
  EXPECT_EQ(read("/current"), "unchanged full hash_match");
  log_.links["/current"] = "/a";
  EXPECT_EQ(read("/current"), "full_fallback full name_moved");
}

TEST_F(NamesTest, ARangeThatWasShownAsPartOfAnotherIsContentUnderAMovedName) {
  log_.read("/b", testing::lines(2, 30));
  read("/current");
  log_.links["/current"] = "/b";
  EXPECT_EQ(brief(log_.read("/current", testing::lines(5, 9))), "full_fallback r:5:9 name_moved");
}

TEST_F(NamesTest, AfterAnEditThereIsNoDiffUnderTheNameOfAnotherFile) {
  read("/b");
  read("/current");
  log_.links["/current"] = "/b";
  log_.files["/b"] = with_line(log_.files["/b"], 7, "edited");
  EXPECT_EQ(read("/current"), "full_fallback full name_moved");
}

TEST_F(NamesTest, AFileThatBecameALinkIsContent) {
  read("/b");
  log_.links["/a"] = "/a";
  read("/a");
  log_.links["/a"] = "/b";
  EXPECT_EQ(read("/a"), "full_fallback full name_moved");
}

TEST_F(NamesTest, WhatAnotherNameWasShownSinceIsNotHeldUnderThisOne) {
  read("/current");
  log_.files["/a"] = with_line(log_.files["/a"], 7, "edited");
  EXPECT_EQ(read("/a"), "diff full diff_emitted");
  EXPECT_EQ(read("/current"), "full_fallback full name_moved");
  EXPECT_EQ(read("/current"), "unchanged full hash_match");
}

TEST_F(NamesTest, AReadThatLeftTheContextDoesNotSayWhereTheNameLed) {
  read("/b");
  read("/current");
  log_.links["/current"] = "/b";
  read("/current");
  log_.edit_context(log_.last().id);
  // What is held under the name is a's text again.
  EXPECT_EQ(read("/current"), "full_fallback full name_moved");
}

TEST_F(NamesTest, AnAnswerInDoubtTakesWithItWhatWasShownBeforeAndNothingAfter) {
  const TrustFold fold;
  log_.options.marker_repeat = 0;
  read("/a");
  log_.files["/a"] = with_line(log_.files["/a"], 7, "edited");
  read("/a");
  const EntryId doubted = log_.last().id;
  // Perhaps the reader saw the edit: then the first text is not what it saw last.
  TrustFold::State state = log_.state();
  fold.doubt(state, doubted.str());
  EXPECT_TRUE(state.paths.find("/a")->view.empty());
  log_.read("/a", {.bypass = true});
  state = log_.state();
  fold.doubt(state, doubted.str());
  EXPECT_TRUE(state.paths.find("/a")->view.covers({1, 41}));
  EXPECT_FALSE(state.name_moved("/a", "/a", kWhole));
}

TEST_F(NamesTest, ALinkReadAgainAfterAnAnswerInDoubtIsKnownAgain) {
  const TrustFold fold;
  read("/current");
  const EntryId doubted = log_.last().id;
  TrustFold::State state = log_.state();
  fold.doubt(state, doubted.str());
  EXPECT_EQ(state.names.find("/current")->lines.at(1)->value->path, "");
  log_.read("/current", {.bypass = true});
  state = log_.state();
  fold.doubt(state, doubted.str());
  EXPECT_FALSE(state.name_moved("/current", "/a", kWhole));
}

TEST_F(NamesTest, AnAnswerInDoubtDoesNotSayWhichVersionWasShownUnderAPlainName) {
  const TrustFold fold;
  read("/a");
  log_.files["/a"] = with_line(log_.files["/a"], 7, "edited");
  log_.read("/a", {.bypass = true});
  const EntryId doubted = log_.last().id;
  log_.read("/current", {.bypass = true});
  TrustFold::State state = log_.state();
  EXPECT_FALSE(state.name_moved("/a", "/a", kWhole));
  fold.doubt(state, doubted.str());
  EXPECT_TRUE(state.name_moved("/a", "/a", kWhole));
  fold.withdraw(state = log_.state(), doubted.str());
  EXPECT_TRUE(state.name_moved("/a", "/a", kWhole));
}

TEST_F(NamesTest, ALineShownUnderANameDoesNotStandForTheRestOfItsFile) {
  read("/a");
  log_.files["/a"] = with_line(log_.files["/a"], 7, "edited");
  EXPECT_EQ(brief(log_.read("/a", testing::lines(10, 10))), "unchanged_range r:10:10 range_slice_unchanged");
  log_.read("/current", {.bypass = true});
  EXPECT_EQ(read("/a"), "full_fallback full name_moved");
  EXPECT_EQ(read("/a"), "unchanged full hash_match");
}

TEST_F(NamesTest, AWithdrawnMarkerLeavesWhatTheNameWasShownBefore) {
  read("/current");
  read("/current");
  ASSERT_EQ(log_.state().names.find("/current")->last, log_.last().id);
  log_.edit_context(log_.last().id);
  EXPECT_EQ(read("/current"), "unchanged full hash_match");
}

TEST_F(NamesTest, ALongFileUnderAMovedNameIsHeldOnceAllOfItWasShown) {
  log_.files = {{"/a", numbered(4500, "of a {}")}, {"/b", numbered(4500, "of b {}")}};
  const auto windows = [&](const std::string& name) {
    std::string out;
    for (const std::uint64_t first : {1, 2001, 4001}) out += brief(log_.read(name, {.offset = first, .limit = {}})) + "\n";
    return out;
  };
  windows("/b");
  windows("/current");
  log_.links["/current"] = "/b";
  windows("/current");
  const std::string again = windows("/current");
  EXPECT_EQ(again.find("name_moved"), std::string::npos) << again;
  EXPECT_EQ(again.find("full_fallback"), std::string::npos) << again;
}

TEST_F(NamesTest, WhatWasShownWhereNobodyTellsOfCompactionsProvesNothing) {
  read("/a");
  ReadRecord record = log_.read("/a", {.bypass = true}).record;
  record.reason = "not_followed";
  log_.append_record(record);
  EXPECT_FALSE(log_.trust("/a")->proven);
  EXPECT_EQ(read("/a"), "full full no_base_hash");
  EXPECT_EQ(read("/a"), "unchanged full hash_match");
}

TEST_F(NamesTest, ARefreshedNameIsContentWhereverItLeadsNext) {
  read("/current");
  log_.append("refresh", R"({"v":1,"path":"/b","name":"/current","scope":"full"})");
  EXPECT_EQ(read("/current"), "full_fallback full name_moved");
  EXPECT_EQ(read("/current"), "unchanged full hash_match");
}

TEST_F(NamesTest, AFileServedWithoutATraceWasShownUnderItsName) {
  read("/current");
  log_.append("custom", R"({"custom_type":"read_uncached","data":{"name":"/current","path":"/.env","reason":"denied_path"}})");
  EXPECT_EQ(read("/current"), "full_fallback full name_moved");
}

TEST_F(NamesTest, ACompactionForgetsNamesToo) {
  read("/b");
  read("/current");
  log_.compact();
  EXPECT_EQ(log_.state().names.size(), 0u);
  log_.links["/current"] = "/b";
  EXPECT_EQ(read("/current"), "full full no_base_hash");
}

TEST_F(NamesTest, WhatWasReadBeforeAHostBeganToTellOfItsCompactionsMayBeGone) {
  read("/a");
  log_.append("session_info", R"({"barrier_feed":true})");
  EXPECT_EQ(read("/a"), "full full no_base_hash");
  EXPECT_EQ(read("/a"), "unchanged full hash_match");
  // Who says it again may have been away.
  log_.append("session_info", R"({"barrier_feed":true,"name":"again"})");
  EXPECT_EQ(read("/a"), "full full no_base_hash");
  log_.append("session_info", R"({"barrier_feed":false})");
  EXPECT_EQ(read("/a"), "full full no_base_hash");
  log_.append("session_info", R"({"name":"says nothing of it"})");
  EXPECT_EQ(read("/a"), "unchanged full hash_match");
}

}  // namespace
}  // namespace weir
