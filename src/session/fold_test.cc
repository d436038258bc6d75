// The fold engine: what it remembers, what a state costs, and that every way to a state gives the same.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <atomic>
#include <thread>

#include "session/fold_engine.h"
#include "store/memory_log.h"
#include "testing/log_access.h"
#include "testing/results.h"
#include "testing/rows.h"
#include "testing/session_calls.h"
#include "testing/trail_fold.h"

namespace weir {
namespace {

using testing::code;
using testing::make_chain;
using testing::must;
using testing::stepwise;
using testing::store_rows;
using testing::Trail;
using testing::trail_at;
using testing::TrailEngine;

TEST(FoldTest, StateBeforeTheFirstEntryIsTheInitialOne) {
  const auto log = make_memory_log();
  store_rows(*log, {});
  TrailEngine engine;
  EXPECT_EQ(trail_at(engine, *log, 0), Trail{});
  EXPECT_EQ(engine.steps(), 0u);
}

TEST(FoldTest, OneMoreEntryCostsOneStep) {
  const auto log = make_memory_log();
  testing::SessionCalls session(*log);
  TrailEngine engine;
  for (std::uint64_t n = 1; n <= 300; ++n) {
    must(session.append({testing::named("n" + std::to_string(n), testing::message("m"))}));
    EXPECT_EQ(trail_at(engine, *log, n).count, n);
    ASSERT_EQ(engine.steps(), n);
  }
  // A state that is remembered costs none.
  EXPECT_EQ(trail_at(engine, *log, 300).count, 300u);
  EXPECT_EQ(trail_at(engine, *log, 290).last, "n290");
  EXPECT_EQ(engine.steps(), 300u);
}

TEST(FoldTest, OfLeavesAskedForOneByOneTheLastFewAndOneInAStrideAreKept) {
  const auto log = make_memory_log();
  store_rows(*log, make_chain(5000));
  TrailEngine engine;
  for (Seq seq = 1; seq <= 5000; ++seq) trail_at(engine, *log, seq);
  EXPECT_EQ(engine.steps(), 5000u);
  EXPECT_LE(engine.held_bytes(), 25u * 1128);
  EXPECT_EQ(trail_at(engine, *log, 4990).last, "n4990");
  EXPECT_EQ(engine.steps(), 5000u);
  EXPECT_EQ(trail_at(engine, *log, 2500).last, "n2500");
  EXPECT_LE(engine.steps(), 5000u + TrailEngine::kStride);
}

TEST(FoldTest, NewBranchCostsTheDistanceToTheNearestRememberedAncestor) {
  const auto log = make_memory_log();
  store_rows(*log, make_chain(5000));
  TrailEngine engine;
  EXPECT_EQ(trail_at(engine, *log, 5000).count, 5000u);
  EXPECT_EQ(engine.steps(), 5000u);
  // Remembered on the way: 1024, 2048 and 4096 before the end.
  EXPECT_EQ(trail_at(engine, *log, 3000).last, "n3000");
  EXPECT_EQ(engine.steps(), 5000u + 48);
  EXPECT_EQ(trail_at(engine, *log, 3976).count, 3976u);
  EXPECT_EQ(engine.steps(), 5000u + 48);
  EXPECT_EQ(trail_at(engine, *log, 1000).count, 1000u);
  EXPECT_EQ(engine.steps(), 5000u + 48 + 96);
}

TEST(FoldTest, ForgottenStatesAreComputedAgain) {
  const auto log = make_memory_log();
  store_rows(*log, make_chain(10));
  TrailEngine engine;
  const Trail before = trail_at(engine, *log, 10);
  EXPECT_GT(engine.held_bytes(), 0u);
  engine.forget();
  EXPECT_EQ(engine.held_bytes(), 0u);
  EXPECT_EQ(trail_at(engine, *log, 10), before);
  EXPECT_EQ(engine.steps(), 20u);
}

TEST(FoldTest, StatesUsedLongestAgoGoWhenTheBudgetIsFull) {
  const auto log = make_memory_log();
  const std::vector<Entry> chain = make_chain(100);
  store_rows(*log, chain);
  TrailEngine engine(10000);  // a state counts 1,128 bytes: eight fit
  for (Seq seq = 1; seq <= 100; ++seq) {
    EXPECT_EQ(trail_at(engine, *log, seq), stepwise(chain, seq));
    EXPECT_LE(engine.held_bytes(), 10000u);
    trail_at(engine, *log, 1);  // used all the time, so it stays
  }
  EXPECT_EQ(engine.held_bytes(), 8u * 1128);
  const std::uint64_t steps = engine.steps();
  EXPECT_EQ(steps, 100u);
  trail_at(engine, *log, 1);
  trail_at(engine, *log, 94);
  EXPECT_EQ(engine.steps(), steps);
  trail_at(engine, *log, 93);  // gone: counted again from 1
  EXPECT_EQ(engine.steps(), steps + 92);
}

// A state that grows with its path and shares nearly all of it with the one before.
struct GrowingFold {
  struct State {
    std::uint64_t count = 0;
  };
  static State initial() { return {}; }
  static Result<void> step(State& state, const Entry&) {
    ++state.count;
    return {};
  }
  static std::size_t bytes(const State& state) { return state.count * 10'000; }
};

TEST(FoldTest, StatesOfOneLongPathDoNotPushEachOtherOut) {
  const auto log = make_memory_log();
  store_rows(*log, make_chain(1000));
  FoldEngine<GrowingFold> engine(std::size_t{1} << 20);  // the state at the end is ten times as large
  const auto count_at = [&](Seq seq) {
    std::uint64_t out = 0;
    must(testing::read_from(*log, [&](LogReader& reader) -> Result<void> {
      TRY(const auto state, engine.at(reader, SessionNo{1}, seq));
      out = state->count;
      return {};
    }));
    return out;
  };
  EXPECT_EQ(count_at(900), 900u);
  for (Seq seq = 901; seq <= 1000; ++seq) {
    EXPECT_EQ(count_at(seq), seq);
    EXPECT_EQ(count_at(seq - 1), seq - 1);
  }
  EXPECT_EQ(engine.steps(), 1000u);
}

TEST(FoldTest, StatesOfOtherSessionsGoFirst) {
  const auto log = make_memory_log();
  testing::SessionCalls one(*log, "one"), two(*log, "two");
  for (int i = 0; i < 80; ++i) {
    must(one.append({testing::message("m")}));
    must(two.append({testing::message("m")}));
  }
  FoldEngine<GrowingFold> engine(1'000'000);
  const auto count_at = [&](Seq seq, SessionNo session) {
    must(testing::read_from(*log, [&](LogReader& reader) -> Result<void> {
      TRY_DO(engine.at(reader, session, seq));
      return {};
    }));
  };
  count_at(80, one.row().no);
  count_at(80, two.row().no);  // 1.6 million together
  EXPECT_LE(engine.held_bytes(), 1'000'000u);
  EXPECT_EQ(engine.steps(), 160u);
  count_at(80, two.row().no);
  EXPECT_EQ(engine.steps(), 160u);
  count_at(80, one.row().no);
  EXPECT_EQ(engine.steps(), 240u);
}

TEST(FoldTest, OneStateIsKeptHoweverSmallTheBudget) {
  const auto log = make_memory_log();
  store_rows(*log, make_chain(3));
  TrailEngine engine(1);
  EXPECT_EQ(trail_at(engine, *log, 2).count, 2u);
  EXPECT_EQ(trail_at(engine, *log, 3).count, 3u);
  EXPECT_EQ(engine.steps(), 3u);
  EXPECT_EQ(engine.held_bytes(), 1128u);
}

TEST(FoldTest, SessionsAreKeptApart) {
  const auto log = make_memory_log();
  testing::SessionCalls one(*log, "one"), two(*log, "two");
  one.grow({"a", "b"});
  two.grow({"x", "y"});
  TrailEngine engine;
  EXPECT_EQ(trail_at(engine, *log, 2, one.row().no).last, "b");
  EXPECT_EQ(trail_at(engine, *log, 2, two.row().no).last, "y");
}

TEST(FoldTest, StateSeenInATransactionThatWasTakenBackIsNotGivenForAnotherEntry) {
  const auto log = make_memory_log();
  testing::SessionCalls session(*log);
  session.grow({"a"});
  const SessionNo no = session.row().no;
  const Entry first = session.at(1);
  TrailEngine engine;
  must(log->try_write([&](LogTxn& txn) -> Result<void> {
    TRY_DO(txn.insert(no, testing::make_row(2, &first, "message", R"({"tried":1})", "tried")));
    TRY(const auto state, engine.at(txn, no, 2));
    EXPECT_EQ(state->last, "tried");
    return {};
  }));
  session.grow({"b"});
  EXPECT_EQ(trail_at(engine, *log, 2, no).last, "b");
  EXPECT_EQ(trail_at(engine, *log, 2, no).count, 2u);
  session.grow({"c"});
  EXPECT_EQ(trail_at(engine, *log, 3, no), stepwise({session.at(1), session.at(2), session.at(3)}, 3));
}

TEST(FoldTest, ErrorOfAStepIsTheAnswerAndNothingIsRemembered) {
  const auto log = make_memory_log();
  std::vector<Entry> entries = make_chain(3);
  entries.push_back(testing::make_row(4, &entries[2], "message", R"({"bad":true})", "n4"));
  store_rows(*log, entries);
  TrailEngine engine;
  const auto failing = testing::read_from(*log, [&](LogReader& reader) { return engine.at(reader, SessionNo{1}, 4); });
  ASSERT_EQ(code(failing), "CORRUPT");
  EXPECT_EQ(failing.error().message(), "bad body");
  EXPECT_EQ(engine.held_bytes(), 0u);
  EXPECT_EQ(trail_at(engine, *log, 3).count, 3u);
  EXPECT_EQ(code(testing::read_from(*log, [&](LogReader& reader) { return engine.at(reader, SessionNo{1}, 5); })), "CORRUPT");
}

TEST(FoldThreadsTest, EngineMayBeAskedFromManyThreads) {
  const auto log = make_memory_log();
  const std::vector<Entry> chain = make_chain(2000);
  store_rows(*log, chain);
  TrailEngine engine(20000);
  std::vector<Trail> expected{Trail{}};
  for (Seq seq = 1; seq <= 2000; ++seq) {
    Trail next = expected.back();
    must(testing::TrailFold::step(next, chain[seq - 1]));
    expected.push_back(next);
  }
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (Seq i = 0; i < 50; ++i) {
        const Seq seq = (i * 37 + static_cast<Seq>(t) * 501) % 2000 + 1;
        wrong += trail_at(engine, *log, seq) != expected[seq];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// fold(all) == step(step(...)) == from any checkpoint, on any tree, in any order of asking, with any budget.
RC_GTEST_PROP(FoldPropertyTest, EveryWayToAStateGivesTheSame, ()) {
  const auto choices = *rc::gen::scale(2.0, rc::gen::nonEmpty(rc::gen::arbitrary<std::vector<std::pair<std::uint8_t, std::uint16_t>>>()));
  std::vector<Entry> entries;
  for (const auto& [how, pick] : choices) {
    const Entry* parent = entries.empty() || how % 16 == 0 ? nullptr : how % 16 < 4 ? &entries[pick % entries.size()] : &entries.back();
    entries.push_back(testing::make_row(entries.size() + 1, parent, "message", "{\"n\":" + std::to_string(how) + "}",
                                        "n" + std::to_string(entries.size() + 1)));
  }
  const auto log = make_memory_log();
  store_rows(*log, entries);
  const auto asked = *rc::gen::container<std::vector<std::uint16_t>>(rc::gen::arbitrary<std::uint16_t>());
  const auto saved = *rc::gen::resize(5, rc::gen::container<std::vector<std::uint16_t>>(rc::gen::arbitrary<std::uint16_t>()));
  for (const std::uint16_t pick : saved) {
    TrailEngine engine;
    must(testing::write_to(*log, [&](LogTxn& txn) { return engine.save(txn, SessionNo{1}, pick % entries.size() + 1); }));
  }
  TrailEngine small(3000), large;
  for (const std::uint16_t pick : asked) {
    const Seq seq = pick % (entries.size() + 1);
    const Trail expected = stepwise(entries, seq);
    RC_ASSERT(trail_at(small, *log, seq) == expected);
    RC_ASSERT(trail_at(large, *log, seq) == expected);
    RC_ASSERT(small.held_bytes() <= 3000u);
  }
}

}  // namespace
}  // namespace weir
