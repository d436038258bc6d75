#include "session/path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "store/memory_log.h"
#include "testing/damaged_store.h"
#include "testing/log_access.h"
#include "testing/results.h"
#include "testing/rows.h"
#include "testing/session_calls.h"

namespace weir {
namespace {

using testing::code;
using testing::detail;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::must;

std::vector<Seq> path(Log& log, SessionNo session, Seq leaf) {
  return must(testing::read_from(log, [&](LogReader& reader) { return path_to(reader, session, leaf); }));
}
Seq barrier(Log& log, SessionNo session, Seq seq) {
  return must(testing::read_from(log, [&](LogReader& reader) { return barrier_at(reader, session, seq); }));
}

class PathTest : public ::testing::Test {
 protected:
  std::unique_ptr<Log> log_ = make_memory_log();
  testing::SessionCalls session_{*log_};
};

//  a(1) - b(2) - c!(3) - d(4)        r(7) - s!(8) - t(9) - u!(10)
//   `- e(5) - f!(6)                    `- v(11)
TEST_F(PathTest, EveryBranchOfEveryRootHasItsOwnPathAndBarrier) {
  session_.grow({"a", "b", "c!", "d", "e<a", "f!", "r<", "s!", "t", "u!", "v<r"});
  const SessionNo no = session_.row().no;
  EXPECT_THAT(path(*log_, no, 0), IsEmpty());
  EXPECT_THAT(path(*log_, no, 1), ElementsAre(1));
  EXPECT_THAT(path(*log_, no, 4), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(path(*log_, no, 6), ElementsAre(1, 5, 6));
  EXPECT_THAT(path(*log_, no, 10), ElementsAre(7, 8, 9, 10));
  EXPECT_THAT(path(*log_, no, 11), ElementsAre(7, 11));
  std::vector<Seq> barriers;
  for (Seq seq = 0; seq <= 11; ++seq) barriers.push_back(barrier(*log_, no, seq));
  EXPECT_THAT(barriers, ElementsAre(0, 0, 0, 3, 3, 0, 6, 0, 8, 8, 10, 0));
}

TEST_F(PathTest, WalkBackEndsWhenToldTo) {
  session_.grow({"a", "b", "x<a", "c<b", "d"});
  std::vector<Seq> seen;
  must(testing::read_from(*log_, [&](LogReader& reader) {
    return walk_back(reader, SessionNo{1}, 5, Columns::all, [&](Entry& entry) -> Result<bool> {
      seen.push_back(entry.seq);
      EXPECT_FALSE(entry.body.empty());
      return entry.seq != 2;
    });
  }));
  EXPECT_THAT(seen, ElementsAre(5, 4, 2));
}

TEST_F(PathTest, WalkVisitsTheseEntriesOnlyAndEndsWhenToldTo) {
  session_.grow({"a", "b", "c", "d", "e"});
  const auto walk_over = [&](std::vector<Seq> seqs, Seq last) {
    std::vector<Seq> seen;
    must(testing::read_from(*log_, [&](LogReader& reader) {
      return walk(reader, SessionNo{1}, seqs, Columns::without_body, [&](Entry& entry) -> Result<bool> {
        seen.push_back(entry.seq);
        EXPECT_TRUE(entry.body.empty());
        return entry.seq != last;
      });
    }));
    return seen;
  };
  EXPECT_THAT(walk_over({1, 3, 5}, 0), ElementsAre(1, 3, 5));
  EXPECT_THAT(walk_over({2}, 0), ElementsAre(2));
  EXPECT_THAT(walk_over({1, 3, 5}, 3), ElementsAre(1, 3));
  EXPECT_THAT(walk_over({}, 0), IsEmpty());
}

TEST_F(PathTest, EntryThatIsNotThereIsCorruptWithItsSeq) {
  session_.grow({"a"});
  const auto missing = testing::read_from(*log_, [](LogReader& reader) { return path_to(reader, SessionNo{1}, 2); });
  ASSERT_EQ(code(missing), "CORRUPT");
  EXPECT_EQ(detail(missing.error(), "seq"), "2");
  EXPECT_EQ(code(testing::read_from(*log_, [](LogReader& reader) { return barrier_at(reader, SessionNo{1}, 2); })), "CORRUPT");
  const auto walked = testing::read_from(*log_, [](LogReader& reader) {
    return walk(reader, SessionNo{1}, {1, 2}, Columns::all, [](Entry&) -> Result<bool> { return true; });
  });
  ASSERT_EQ(code(walked), "CORRUPT");
  EXPECT_EQ(detail(walked.error(), "seq"), "2");
}

TEST_F(PathTest, EntryOfASessionThatWasPurgedMeanwhileIsNotFound) {
  session_.grow({"a", "b"});
  must(testing::write_to(*log_, [](LogTxn& txn) { return txn.delete_session(SessionNo{1}); }));
  EXPECT_EQ(code(testing::read_from(*log_, [](LogReader& reader) { return path_to(reader, SessionNo{1}, 2); })), "NOT_FOUND");
  EXPECT_EQ(code(testing::read_from(*log_,
                                    [](LogReader& reader) {
                                      return walk(reader, SessionNo{1}, {1, 2}, Columns::all, [](Entry&) -> Result<bool> { return true; });
                                    })),
            "NOT_FOUND");
}

TEST(DamagedPathTest, MissingAncestorIsCorruptWithItsSeq) {
  testing::DamagedStore store;
  store.damage("DELETE FROM entry WHERE id = 'n2'");
  const auto opened = must(store.open());
  for (const Seq leaf : {3, 4, 5}) {
    const auto broken = testing::read_from(opened->log(), [&](LogReader& reader) { return path_to(reader, SessionNo{1}, leaf); });
    ASSERT_EQ(code(broken), "CORRUPT");
    EXPECT_EQ(detail(broken.error(), "seq"), "2");
  }
  const auto walked = testing::read_from(opened->log(), [](LogReader& reader) {
    return walk(reader, SessionNo{1}, {1, 2, 3}, Columns::all, [](Entry&) -> Result<bool> { return true; });
  });
  EXPECT_EQ(detail(walked.error(), "seq"), "2");
}

// Trees with runs long enough that a path leaps over more rows than are read over.
RC_GTEST_PROP(PathPropertyTest, PathAndBarrierAreThoseOfTheParentsInAnyTree, ()) {
  const auto choices = *rc::gen::scale(4.0, rc::gen::arbitrary<std::vector<std::pair<std::uint8_t, std::uint16_t>>>());
  const auto log = make_memory_log();
  std::vector<Entry> entries;
  for (const auto& [how, pick] : choices) {
    const Seq seq = entries.size() + 1;
    // Mostly under the last one, at times under any, at times a root.
    const Entry* parent = entries.empty() || how % 16 == 0 ? nullptr : how % 16 < 3 ? &entries[pick % entries.size()] : &entries.back();
    entries.push_back(testing::make_row(seq, parent, how / 16 == 0 ? "compaction" : "message", "{}", "n" + std::to_string(seq)));
  }
  must(testing::write_to(*log, [&](LogTxn& txn) -> Result<void> {
    TRY(const SessionRow session, txn.create_session(SessionId::trusted("s"), TimeMs{0}));
    for (const Entry& entry : entries) TRY_DO(txn.insert(session.no, entry));
    return {};
  }));
  for (const Entry& leaf : entries) {
    std::vector<Seq> expected;
    Seq nearest = 0;
    for (Seq at = leaf.seq; at != 0; at = entries[at - 1].parent) {
      expected.insert(expected.begin(), at);
      if (nearest == 0 && entries[at - 1].type == "compaction") nearest = at;
    }
    RC_ASSERT(path(*log, SessionNo{1}, leaf.seq) == expected);
    RC_ASSERT(barrier(*log, SessionNo{1}, leaf.seq) == nearest);
    std::vector<Seq> walked;
    must(testing::read_from(*log, [&](LogReader& reader) {
      return walk(reader, SessionNo{1}, expected, Columns::all, [&](Entry& entry) -> Result<bool> {
        walked.push_back(entry.seq);
        return true;
      });
    }));
    RC_ASSERT(walked == expected);
  }
}

}  // namespace
}  // namespace weir
