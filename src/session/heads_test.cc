// Where heads stand: after an append, after a repeated one, after a move; and compare-and-set.
#include <gtest/gtest.h>

#include "session/address.h"
#include "session/append.h"
#include "store/memory_log.h"
#include "testing/log_access.h"
#include "testing/results.h"
#include "testing/rows.h"
#include "testing/session_calls.h"

namespace weir {
namespace {

using testing::code;
using testing::detail;
using testing::message;
using testing::must;
using testing::named;
using testing::root;
using testing::under;
using How = testing::SessionCalls::How;

class HeadsTest : public ::testing::Test {
 protected:
  std::unique_ptr<Log> log_ = make_memory_log();
  testing::SessionCalls session_{*log_};
};

TEST_F(HeadsTest, RepeatedCallNeverTurnsAHeadBack) {
  const std::vector<NewEntry> call = {named("a", message("a")), named("b", message("b"))};
  must(session_.append(call));
  session_.grow({"c"});
  const AppendResult again = must(session_.append(call));
  EXPECT_TRUE(again.entries[0].known && again.entries[1].known);
  EXPECT_EQ(again.head.str(), "c");
  EXPECT_EQ(session_.head(), "c");
  // Also with derived ids, and when the call names its parent.
  must(session_.append({root(message("a")), message("b")}));
  EXPECT_EQ(session_.head(), session_.at(5).id.str());
  session_.grow({"d"});
  must(session_.append({root(message("a")), message("b")}));
  EXPECT_EQ(session_.head(), "d");
  EXPECT_EQ(session_.last(), 6u);
}

TEST_F(HeadsTest, TheWordRootIsBeforeTheFirstEntryUnlessAnEntryIsCalledThat) {
  session_.grow({"a"});
  const SessionId id = session_.row().id;
  const auto move = [&](std::string_view to, bool people) {
    return testing::write_to(*log_, [&](LogTxn& txn) { return move_head(txn, {id, main_head(), std::string(to), false, {}}, people); });
  };
  EXPECT_EQ(code(move("root", false)), "NOT_FOUND");
  EXPECT_TRUE(must(move("root", true)).empty());
  const How at_root{.expect = "root"};
  must(session_.append({named("root", message("called root"))}, at_root));
  must(move("a", true));
  EXPECT_EQ(detail(session_.append({message("x")}, at_root).error(), "expect"), "root");
  EXPECT_EQ(must(move("root", true)).str(), "root");
  NewEntry child = under("root", named("child", message("x")));
  child.parent->people = true;
  must(session_.append({child}, at_root));
  EXPECT_EQ(session_.at(3).parent, 2u);
}

TEST_F(HeadsTest, NoOpMovesTheHeadFromThatEntrysParentToIt) {
  session_.grow({"a", "b", "c"});
  must(session_.move("main", "a"));
  must(session_.append({named("b", message("b"))}));
  EXPECT_EQ(session_.head(), "b");
  must(session_.move("main", ""));
  must(session_.append({named("b", message("b"))}));
  EXPECT_EQ(session_.head(), "null");
  must(session_.append({named("a", message("a")), named("b", message("b")), named("c", message("c"))}));
  EXPECT_EQ(session_.head(), "c");
  EXPECT_EQ(session_.last(), 3u);
}

TEST_F(HeadsTest, RepeatedCallThatGoesOnMovesTheHeadToWhatIsNew) {
  session_.grow({"a", "b", "c"});
  const AppendResult result = must(session_.append({named("a", message("a")), named("b", message("b")), named("d", message("d"))}));
  EXPECT_FALSE(result.entries[2].known);
  EXPECT_EQ(session_.at(4).parent, 2u);
  EXPECT_EQ(result.head.str(), "d");
}

TEST_F(HeadsTest, HeadStandsAtTheNewEntryWhenAKnownOneFollowsIt) {
  session_.grow({"a", "b"});
  const AppendResult result = must(session_.append({root(named("x", message("x"))), named("b", message("b"))}));
  EXPECT_TRUE(result.entries[1].known);
  EXPECT_EQ(result.head.str(), "x");
}

TEST_F(HeadsTest, AppendThatIsToldToLeavesTheHeadAlone) {
  session_.grow({"a"});
  must(session_.append({named("b", message("b"))}, How{.move_head = false}));
  EXPECT_EQ(session_.head(), "a");
  EXPECT_EQ(session_.at(2).parent, 1u);
}

TEST_F(HeadsTest, CallWithoutEntriesMakesTheSessionAndItsHead) {
  const AppendResult result = must(session_.append({}));
  EXPECT_TRUE(result.session_made);
  EXPECT_TRUE(result.head.empty());
  EXPECT_EQ(session_.head(), "null");
  EXPECT_EQ(session_.last(), 0u);
}

TEST_F(HeadsTest, ExpectThatHoldsLetsTheCallThrough) {
  must(session_.append({named("a", message("a"))}, How{.expect = ""}));
  must(session_.append({named("b", message("b"))}, How{.expect = "a"}));
  must(session_.append({named("c", message("c"))}, How{.expect = entry_pointer(session_.at(2).digest)}));
  EXPECT_EQ(session_.head(), "c");
}

TEST_F(HeadsTest, ExpectThatFailsIsAConflictThatNamesBoth) {
  session_.grow({"a", "b"});
  const std::string before = testing::dump(*log_);
  for (const std::string wrong : {"a", "nobody", "e0123456789abcdef"}) {
    const auto lost = session_.append({message("new")}, How{.expect = wrong});
    ASSERT_EQ(code(lost), "CONFLICT");
    EXPECT_EQ(lost.error().message(), "head 'main' of session 's' stands at 'b', not at '" + wrong + "'");
    EXPECT_EQ(detail(lost.error(), "head"), "b");
    EXPECT_EQ(detail(lost.error(), "expect"), wrong);
  }
  const auto lost = session_.append({message("new")}, How{.expect = ""});
  ASSERT_EQ(code(lost), "CONFLICT");
  EXPECT_EQ(lost.error().message(), "head 'main' of session 's' stands at 'b', not before the first entry");
  EXPECT_EQ(detail(lost.error(), "expect"), "null");
  EXPECT_EQ(testing::dump(*log_), before);
}

TEST_F(HeadsTest, ConflictInANewSessionMakesNoSession) {
  const auto lost = session_.append({message("new")}, How{.expect = "a"});
  ASSERT_EQ(code(lost), "CONFLICT");
  EXPECT_EQ(detail(lost.error(), "head"), "null");
  EXPECT_EQ(detail(lost.error(), "expect"), "a");
  EXPECT_FALSE(session_.there());
}

TEST_F(HeadsTest, ExpectComesBeforeIdempotency) {
  session_.grow({"a", "b"});
  EXPECT_EQ(code(session_.append({named("a", message("a"))}, How{.expect = ""})), "CONFLICT");
  EXPECT_EQ(code(session_.append({named("b", message("b"))}, How{.expect = "b"})), "OK");
}

TEST_F(HeadsTest, FirstAppendOfASessionMayMakeAnotherHeadAndExpectNothingThere) {
  must(session_.append({named("a", message("a"))}, How{.head = "work", .expect = ""}));
  EXPECT_EQ(session_.head("work"), "a");
  EXPECT_EQ(session_.head("main"), "null");
  // Main stands before the first entry until it is moved or appended to.
  EXPECT_EQ(code(session_.append({named("r", message("r"))}, How{.expect = "a"})), "CONFLICT");
  must(session_.append({named("r", message("r"))}, How{.expect = ""}));
  EXPECT_EQ(session_.at(2).parent, 0u);
}

TEST_F(HeadsTest, AppendToAHeadThatWasNeverMadeIsNotFound) {
  session_.grow({"a"});
  for (const How& how : {How{.head = "side"}, How{.head = "side", .expect = ""}, How{.head = "side", .expect = "a"}}) {
    const auto refused = session_.append({message("new")}, how);
    ASSERT_EQ(code(refused), "NOT_FOUND");
    EXPECT_EQ(refused.error().message(), "session 's' has no head 'side'");
    EXPECT_EQ(detail(refused.error(), "head"), "side");
  }
}

TEST_F(HeadsTest, HeadsMoveApart) {
  session_.grow({"a", "b"});
  EXPECT_EQ(must(session_.fork("side", 1)).str(), "a");
  must(session_.append({named("c", message("c"))}, How{.head = "side"}));
  EXPECT_EQ(session_.at(3).parent, 1u);
  EXPECT_EQ(session_.head("side"), "c");
  EXPECT_EQ(session_.head("main"), "b");
}

TEST_F(HeadsTest, MoveGoesToAnEntryBeforeItOrToTheStartAndAppendsNothing) {
  session_.grow({"a", "b", "c"});
  EXPECT_EQ(must(session_.move("main", "b")).str(), "b");
  EXPECT_EQ(session_.head(), "b");
  EXPECT_EQ(must(session_.move("main", "c", true)).str(), "b");
  EXPECT_EQ(must(session_.move("main", "a", true)).str(), "");
  EXPECT_EQ(session_.head(), "null");
  EXPECT_EQ(must(session_.move("main", entry_pointer(session_.at(3).digest))).str(), "c");
  EXPECT_EQ(must(session_.move("main", "")).str(), "");
  EXPECT_EQ(session_.last(), 3u);
}

TEST_F(HeadsTest, MoveIsRefusedWhereNothingIsOrTheHeadStandsElsewhere) {
  EXPECT_EQ(code(session_.move("main", "")), "NOT_FOUND");
  session_.grow({"a", "b"});
  EXPECT_EQ(code(session_.move("main", "nobody")), "NOT_FOUND");
  EXPECT_EQ(code(session_.move("side", "a")), "NOT_FOUND");
  const auto lost = session_.move("main", "a", false, "a");
  ASSERT_EQ(code(lost), "CONFLICT");
  EXPECT_EQ(detail(lost.error(), "head"), "b");
  EXPECT_EQ(detail(lost.error(), "expect"), "a");
  EXPECT_EQ(session_.head(), "b");
  EXPECT_EQ(code(session_.move("main", "a", false, "b")), "OK");
  EXPECT_EQ(session_.head(), "a");
}

TEST_F(HeadsTest, ForkTakesAFreeNameOnly) {
  EXPECT_EQ(code(session_.fork("side", 0)), "NOT_FOUND");
  session_.grow({"a", "b"});
  EXPECT_EQ(must(session_.fork("start", 0)).str(), "");
  EXPECT_EQ(must(session_.fork("side", 1)).str(), "a");
  const auto taken = session_.fork("side", 2);
  ASSERT_EQ(code(taken), "CONFLICT");
  EXPECT_EQ(taken.error().message(), "session 's' has a head 'side' already");
  EXPECT_EQ(detail(taken.error(), "head"), "a");
  EXPECT_EQ(detail(taken.error(), "name"), "side");
  EXPECT_EQ(detail(session_.fork("start", 2).error(), "head"), "null");
  EXPECT_EQ(session_.head("side"), "a");
}

TEST_F(HeadsTest, EveryHeadButMainCanBeDeleted) {
  EXPECT_EQ(code(session_.delete_head("side")), "NOT_FOUND");
  session_.grow({"a"});
  must(session_.fork("side", 1));
  must(session_.delete_head("side"));
  EXPECT_EQ(session_.head("side"), "(none)");
  EXPECT_EQ(code(session_.delete_head("side")), "NOT_FOUND");
  EXPECT_EQ(code(session_.delete_head("main")), "INVALID_FIELD");
  EXPECT_EQ(session_.head("main"), "a");
  EXPECT_EQ(session_.last(), 1u);
}

TEST_F(HeadsTest, SessionHasAtMostTenThousandHeads) {
  session_.grow({"a"});
  const SessionNo no = session_.row().no;
  must(testing::write_to(*log_, [&](LogTxn& txn) -> Result<void> {
    for (int i = 1; i < 10000; ++i) TRY_DO(txn.set_head(no, HeadName::trusted("h" + std::to_string(i)), 1));
    return {};
  }));
  const auto refused = session_.fork("one-more", 1);
  ASSERT_EQ(code(refused), "LIMIT_EXCEEDED");
  EXPECT_EQ(detail(refused.error(), "limit"), "10000");
  EXPECT_EQ(detail(refused.error(), "value"), "10001");
}

}  // namespace
}  // namespace weir
