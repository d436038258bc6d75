#include "session/info_fold.h"

#include <gtest/gtest.h>

#include "testing/results.h"
#include "testing/rows.h"

namespace weir {
namespace {

using testing::code;
using testing::must;

InfoFold::State fold(const std::vector<std::pair<std::string, std::string>>& entries) {
  InfoFold::State state = InfoFold::initial();
  Seq seq = 0;
  for (const auto& [type, body] : entries) must(InfoFold::step(state, testing::make_row(++seq, nullptr, type, body)));
  return state;
}

using Feed = InfoFold::Feed;

TEST(InfoFoldTest, NothingSaidMeansThatNobodyTellsOfCompactions) {
  EXPECT_EQ(fold({}), (InfoFold::State{"", "", Feed::unsaid, 0}));
  EXPECT_EQ(fold({{"session_info", "{}"}, {"message", R"({"barrier_feed":true,"cwd":"/no","role":"user"})"}}),
            (InfoFold::State{"", "", Feed::unsaid, 0}));
}

TEST(InfoFoldTest, LaterEntriesGoOverEarlierOnesMemberByMember) {
  EXPECT_EQ(fold({{"session_info", R"({"barrier_feed":true,"cwd":"/a","name":"one"})"},
                  {"session_info", R"({"barrier_feed":false,"cwd":"/b"})"}}),
            (InfoFold::State{"one", "/b", Feed::no, 2}));
  EXPECT_EQ(fold({{"session_info", R"({"barrier_feed":false})"}, {"session_info", R"({"barrier_feed":true,"name":""})"}}),
            (InfoFold::State{"", "", Feed::yes, 2}));
}

TEST(InfoFoldTest, MembersOfAnotherKindHaveNoEffect) {
  EXPECT_EQ(fold({{"session_info", R"({"barrier_feed":false,"cwd":"/a","name":"n"})"},
                  {"session_info", R"({"barrier_feed":1,"cwd":null,"name":["x"]})"}}),
            (InfoFold::State{"n", "/a", Feed::no, 1}));
}

TEST(InfoFoldTest, ACompactionChangesNothing) {
  EXPECT_EQ(fold({{"session_info", R"({"barrier_feed":true,"cwd":"/a"})"}, {"compaction", R"({"summary":"s"})"}}),
            (InfoFold::State{"", "/a", Feed::yes, 1}));
}

TEST(InfoFoldTest, WhatAnImportedEntrySaysOfItsHostDoesNotCountHere) {
  Entry entry = testing::make_row(1, nullptr, "session_info", R"({"barrier_feed":true,"cwd":"/a"})");
  entry.imported = true;
  InfoFold::State state;
  must(InfoFold::step(state, entry));
  EXPECT_EQ(state, (InfoFold::State{"", "/a", Feed::unsaid, 0}));
}

TEST(InfoFoldTest, SavedStateComesBackAndIsPinned) {
  const InfoFold::State state{"n \"x\"", "/a", Feed::yes, 7};
  EXPECT_EQ(InfoFold::save(state), R"({"cwd":"/a","feed":"yes","feed_said_at":7,"name":"n \"x\""})");
  EXPECT_EQ(must(InfoFold::load(InfoFold::save(state))), state);
  EXPECT_EQ(must(InfoFold::load(InfoFold::save({}))), InfoFold::State{});
}

// One that were taken for another state would be trusted like it.
TEST(InfoFoldTest, SavedStateOfAnotherShapeIsRefused) {
  for (const char* bad :
       {"", "7", "[]", "{}", R"({"cwd":"","name":""})", R"({"cwd":"","feed":"maybe","feed_said_at":0,"name":""})",
        R"({"cwd":"","feed":"yes","feed_said_at":"1","name":""})", R"({"cwd":null,"feed":"no","feed_said_at":1,"name":""})"})
    EXPECT_FALSE(InfoFold::load(bad).ok()) << bad;
}

TEST(InfoFoldTest, BodyThatIsNoJsonIsCorrupt) {
  InfoFold::State state;
  EXPECT_EQ(code(InfoFold::step(state, testing::make_row(1, nullptr, "session_info", "{"))), "CORRUPT");
}

}  // namespace
}  // namespace weir
