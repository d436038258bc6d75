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
  for (const auto& [type, body] : entries) must(InfoFold::step(state, testing::make_row(1, nullptr, type, body)));
  return state;
}

TEST(InfoFoldTest, NothingSaidMeansAHostThatTellsOfItsCompactions) {
  EXPECT_EQ(fold({}), (InfoFold::State{"", "", true}));
  EXPECT_EQ(fold({{"session_info", "{}"}, {"message", R"({"cwd":"/no","role":"user"})"}}), (InfoFold::State{"", "", true}));
}

TEST(InfoFoldTest, LaterEntriesGoOverEarlierOnesMemberByMember) {
  EXPECT_EQ(fold({{"session_info", R"({"cwd":"/a","name":"one"})"}, {"session_info", R"({"barrier_feed":false,"cwd":"/b"})"}}),
            (InfoFold::State{"one", "/b", false}));
}

TEST(InfoFoldTest, AHostThatCouldNotTellOfItsCompactionsStaysOne) {
  EXPECT_EQ(fold({{"session_info", R"({"barrier_feed":false})"}, {"session_info", R"({"barrier_feed":true,"name":""})"}}),
            (InfoFold::State{"", "", false}));
}

TEST(InfoFoldTest, MembersOfAnotherKindHaveNoEffect) {
  EXPECT_EQ(fold({{"session_info", R"({"barrier_feed":false,"cwd":"/a","name":"n"})"},
                  {"session_info", R"({"barrier_feed":1,"cwd":null,"name":["x"]})"}}),
            (InfoFold::State{"n", "/a", false}));
}

TEST(InfoFoldTest, ACompactionChangesNothing) {
  EXPECT_EQ(fold({{"session_info", R"({"barrier_feed":false,"cwd":"/a"})"}, {"compaction", R"({"summary":"s"})"}}),
            (InfoFold::State{"", "/a", false}));
}

TEST(InfoFoldTest, SavedStateComesBackAndIsPinned) {
  const InfoFold::State state{"n \"x\"", "/a", false};
  EXPECT_EQ(InfoFold::save(state), R"({"barrier_feed":false,"cwd":"/a","name":"n \"x\""})");
  EXPECT_EQ(must(InfoFold::load(InfoFold::save(state))), state);
  EXPECT_EQ(must(InfoFold::load(InfoFold::save({}))), InfoFold::State{});
}

// One that were taken for the initial state would be trusted like it.
TEST(InfoFoldTest, SavedStateOfAnotherShapeIsRefused) {
  for (const char* bad : {"", "7", "[]", "{}", R"({"cwd":"","name":""})", R"({"barrier_feed":0,"cwd":"","name":""})",
                          R"({"barrier_feed":true,"cwd":null,"name":""})"})
    EXPECT_FALSE(InfoFold::load(bad).ok()) << bad;
}

TEST(InfoFoldTest, BodyThatIsNoJsonIsCorrupt) {
  InfoFold::State state;
  EXPECT_EQ(code(InfoFold::step(state, testing::make_row(1, nullptr, "session_info", "{"))), "CORRUPT");
}

}  // namespace
}  // namespace weir
