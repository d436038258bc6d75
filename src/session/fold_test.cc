// The fold engine over a fold whose state tells the whole path, so that one wrong step shows.
#include "session/fold.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <atomic>
#include <thread>

#include "store/memory_log.h"
#include "store/sqlite.h"
#include "store/store.h"
#include "testing/log_access.h"
#include "testing/results.h"
#include "testing/rows.h"
#include "testing/session_calls.h"
#include "testing/temp_dir.h"

namespace weir {
namespace {

using testing::code;
using testing::must;

// Ids in order, and a hash over all bodies.
struct TrailFold {
  static constexpr std::string_view kName = "trail";
  struct State {
    std::uint64_t count = 0, hash = 0;
    std::string last;
    bool operator==(const State&) const = default;
  };
  static State initial() { return {}; }
  static Result<void> step(State& state, const Entry& entry) {
    if (entry.body == R"({"bad":true})") return Error(ErrorCode::CORRUPT, "bad body");
    ++state.count;
    state.hash = state.hash * 31 + sha256(entry.id.str() + entry.body).prefix64();
    state.last = entry.id.str();
    return {};
  }
  static std::size_t bytes(const State&) { return 1000; }
  static std::string save(const State& state) { return std::to_string(state.count) + " " + std::to_string(state.hash) + " " + state.last; }
  static Result<State> load(std::string_view text) {
    State state;
    char last[300] = "";
    if (std::sscanf(std::string(text).c_str(), "%lu %lu %299s", &state.count, &state.hash, last) != 3) return Error(ErrorCode::CORRUPT, "no trail");
    state.last = last;
    return state;
  }
};
using Engine = FoldEngine<TrailFold>;
using State = TrailFold::State;

State at(Engine& engine, Log& log, Seq seq, SessionNo session = SessionNo{1}) {
  return *must(testing::read_from(log, [&](LogReader& reader) { return engine.at(reader, session, seq); }));
}

// step(step(...)) along the parents, with nothing remembered.
State stepwise(const std::vector<Entry>& entries, Seq seq) {
  if (seq == 0) return {};
  State state = stepwise(entries, entries[seq - 1].parent);
  must(TrailFold::step(state, entries[seq - 1]));
  return state;
}

void store_rows(Log& log, const std::vector<Entry>& entries) {
  must(testing::write_to(log, [&](LogTxn& txn) -> Result<void> {
    TRY(const SessionRow session, txn.create_session(SessionId::trusted("s"), TimeMs{0}));
    for (const Entry& entry : entries) TRY_DO(txn.insert(session.no, entry));
    return {};
  }));
}

std::vector<Entry> make_chain(std::size_t count) {
  std::vector<Entry> out;
  out.reserve(count);
  for (Seq seq = 1; seq <= count; ++seq) out.push_back(testing::make_row(seq, out.empty() ? nullptr : &out.back(), "message", "{}", "n" + std::to_string(seq)));
  return out;
}

TEST(FoldTest, StateBeforeTheFirstEntryIsTheInitialOne) {
  const auto log = make_memory_log();
  store_rows(*log, {});
  Engine engine;
  EXPECT_EQ(at(engine, *log, 0), State{});
  EXPECT_EQ(engine.steps(), 0u);
}

TEST(FoldTest, OneMoreEntryCostsOneStep) {
  const auto log = make_memory_log();
  testing::SessionCalls session(*log);
  Engine engine;
  for (std::uint64_t n = 1; n <= 300; ++n) {
    must(session.append({testing::named("n" + std::to_string(n), testing::message("m"))}));
    EXPECT_EQ(at(engine, *log, n).count, n);
    ASSERT_EQ(engine.steps(), n);
  }
  // A state that is remembered costs none.
  EXPECT_EQ(at(engine, *log, 300).count, 300u);
  EXPECT_EQ(at(engine, *log, 17).last, "n17");
  EXPECT_EQ(engine.steps(), 300u);
}

TEST(FoldTest, NewBranchCostsTheDistanceToTheNearestRememberedAncestor) {
  const auto log = make_memory_log();
  store_rows(*log, make_chain(5000));
  Engine engine;
  EXPECT_EQ(at(engine, *log, 5000).count, 5000u);
  EXPECT_EQ(engine.steps(), 5000u);
  // Remembered on the way: 1024, 2048, 3072, 4096.
  EXPECT_EQ(at(engine, *log, 3000).last, "n3000");
  EXPECT_EQ(engine.steps(), 5000u + (3000 - 2048));
  EXPECT_EQ(at(engine, *log, 4096).count, 4096u);
  EXPECT_EQ(engine.steps(), 5000u + (3000 - 2048));
  EXPECT_EQ(at(engine, *log, 1000).count, 1000u);
  EXPECT_EQ(engine.steps(), 5000u + (3000 - 2048) + 1000);
}

TEST(FoldTest, ForgottenStatesAreComputedAgain) {
  const auto log = make_memory_log();
  store_rows(*log, make_chain(10));
  Engine engine;
  const State before = at(engine, *log, 10);
  EXPECT_GT(engine.held_bytes(), 0u);
  engine.forget();
  EXPECT_EQ(engine.held_bytes(), 0u);
  EXPECT_EQ(at(engine, *log, 10), before);
  EXPECT_EQ(engine.steps(), 20u);
}

TEST(FoldTest, StatesUsedLongestAgoGoWhenTheBudgetIsFull) {
  const auto log = make_memory_log();
  const std::vector<Entry> chain = make_chain(100);
  store_rows(*log, chain);
  Engine engine(10000);  // a state counts 1,128 bytes: eight fit
  for (Seq seq = 1; seq <= 100; ++seq) {
    EXPECT_EQ(at(engine, *log, seq), stepwise(chain, seq));
    EXPECT_LE(engine.held_bytes(), 10000u);
    at(engine, *log, 1);  // used all the time, so it stays
  }
  EXPECT_EQ(engine.held_bytes(), 8u * 1128);
  const std::uint64_t steps = engine.steps();
  EXPECT_EQ(steps, 100u);
  at(engine, *log, 1);
  at(engine, *log, 94);
  EXPECT_EQ(engine.steps(), steps);
  at(engine, *log, 93);  // gone: counted again from 1
  EXPECT_EQ(engine.steps(), steps + 92);
}

TEST(FoldTest, OneStateIsKeptHoweverSmallTheBudget) {
  const auto log = make_memory_log();
  store_rows(*log, make_chain(3));
  Engine engine(1);
  EXPECT_EQ(at(engine, *log, 2).count, 2u);
  EXPECT_EQ(at(engine, *log, 3).count, 3u);
  EXPECT_EQ(engine.steps(), 3u);
  EXPECT_EQ(engine.held_bytes(), 1128u);
}

TEST(FoldTest, SessionsAreKeptApart) {
  const auto log = make_memory_log();
  testing::SessionCalls one(*log, "one"), two(*log, "two");
  one.grow({"a", "b"});
  two.grow({"x", "y"});
  Engine engine;
  EXPECT_EQ(at(engine, *log, 2, one.row().no).last, "b");
  EXPECT_EQ(at(engine, *log, 2, two.row().no).last, "y");
}

TEST(FoldTest, StateSeenInATransactionThatWasTakenBackIsNotGivenForAnotherEntry) {
  const auto log = make_memory_log();
  testing::SessionCalls session(*log);
  session.grow({"a"});
  const SessionNo no = session.row().no;
  const Entry first = session.at(1);
  Engine engine;
  must(log->try_write([&](LogTxn& txn) -> Result<void> {
    TRY_DO(txn.insert(no, testing::make_row(2, &first, "message", R"({"tried":1})", "tried")));
    TRY(const auto state, engine.at(txn, no, 2));
    EXPECT_EQ(state->last, "tried");
    return {};
  }));
  session.grow({"b"});
  EXPECT_EQ(at(engine, *log, 2, no).last, "b");
  EXPECT_EQ(at(engine, *log, 2, no).count, 2u);
  session.grow({"c"});
  EXPECT_EQ(at(engine, *log, 3, no), stepwise({session.at(1), session.at(2), session.at(3)}, 3));
}

TEST(FoldTest, ErrorOfAStepIsTheAnswerAndNothingIsRemembered) {
  const auto log = make_memory_log();
  std::vector<Entry> entries = make_chain(3);
  entries.push_back(testing::make_row(4, &entries[2], "message", R"({"bad":true})", "n4"));
  store_rows(*log, entries);
  Engine engine;
  const auto failing = testing::read_from(*log, [&](LogReader& reader) { return engine.at(reader, SessionNo{1}, 4); });
  ASSERT_EQ(code(failing), "CORRUPT");
  EXPECT_EQ(failing.error().message(), "bad body");
  EXPECT_EQ(engine.held_bytes(), 0u);
  EXPECT_EQ(at(engine, *log, 3).count, 3u);
  EXPECT_EQ(code(testing::read_from(*log, [&](LogReader& reader) { return engine.at(reader, SessionNo{1}, 5); })), "CORRUPT");
}

class SavedFoldTest : public ::testing::Test {
 protected:
  std::unique_ptr<Store> open() { return must(Store::open(dir_ / "store", Store::Access::write, {}, {})); }
  testing::TempDir dir_;
};

TEST_F(SavedFoldTest, SavedStateIsWhereAnotherProcessStarts) {
  const std::vector<Entry> chain = make_chain(60);
  {
    const auto store = open();
    store_rows(store->log(), chain);
    Engine engine;
    for (const Seq seq : {20, 50}) must(testing::write_to(store->log(), [&](LogTxn& txn) { return engine.save(txn, SessionNo{1}, seq); }));
  }
  const auto store = open();
  Engine engine;
  EXPECT_EQ(at(engine, store->log(), 60), stepwise(chain, 60));
  EXPECT_EQ(engine.steps(), 10u);
  EXPECT_EQ(at(engine, store->log(), 20), stepwise(chain, 20));
  EXPECT_EQ(engine.steps(), 10u);
  EXPECT_EQ(at(engine, store->log(), 49), stepwise(chain, 49));
  EXPECT_EQ(engine.steps(), 10u + 29);
}

TEST_F(SavedFoldTest, DamagedOrUnreadableSavedStateIsComputedAgain) {
  const std::vector<Entry> chain = make_chain(60);
  {
    const auto store = open();
    store_rows(store->log(), chain);
    Engine engine;
    must(testing::write_to(store->log(), [&](LogTxn& txn) -> Result<void> {
      TRY_DO(engine.save(txn, SessionNo{1}, 20));
      TRY_DO(engine.save(txn, SessionNo{1}, 40));
      return txn.save_checkpoint(SessionNo{1}, "trail", {50, "of an older version"});
    }));
  }
  {
    const auto connection = must(sqlite::Connection::open(dir_ / "store/weir.db", sqlite::Connection::Mode::read_write, 1000));
    must(connection->execute("UPDATE checkpoint SET state = '999 999 n999' WHERE seq = 40"));
  }
  const auto store = open();
  Engine engine;
  EXPECT_EQ(at(engine, store->log(), 60), stepwise(chain, 60));
  EXPECT_EQ(engine.steps(), 40u);
}

TEST_F(SavedFoldTest, SavedStateOfAnotherBranchIsNotUsed) {
  const auto store = open();
  testing::SessionCalls session(store->log());
  session.grow({"a", "b", "x<a", "y"});
  const SessionNo no = session.row().no;
  Engine saver, engine;
  must(testing::write_to(store->log(), [&](LogTxn& txn) { return saver.save(txn, no, 2); }));
  EXPECT_EQ(at(engine, store->log(), 4, no).count, 3u);
  EXPECT_EQ(engine.steps(), 3u);
}

TEST(FoldThreadsTest, EngineMayBeAskedFromManyThreads) {
  const auto log = make_memory_log();
  const std::vector<Entry> chain = make_chain(2000);
  store_rows(*log, chain);
  Engine engine(20000);
  std::vector<State> expected{State{}};
  for (Seq seq = 1; seq <= 2000; ++seq) {
    State next = expected.back();
    must(TrailFold::step(next, chain[seq - 1]));
    expected.push_back(next);
  }
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (Seq i = 0; i < 50; ++i) {
        const Seq seq = (i * 37 + static_cast<Seq>(t) * 501) % 2000 + 1;
        wrong += at(engine, *log, seq) != expected[seq];
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
    entries.push_back(testing::make_row(entries.size() + 1, parent, "message", "{\"n\":" + std::to_string(how) + "}", "n" + std::to_string(entries.size() + 1)));
  }
  const auto log = make_memory_log();
  store_rows(*log, entries);
  const auto asked = *rc::gen::container<std::vector<std::uint16_t>>(rc::gen::arbitrary<std::uint16_t>());
  const auto saved = *rc::gen::resize(5, rc::gen::container<std::vector<std::uint16_t>>(rc::gen::arbitrary<std::uint16_t>()));
  for (const std::uint16_t pick : saved) {
    Engine engine;
    must(testing::write_to(*log, [&](LogTxn& txn) { return engine.save(txn, SessionNo{1}, pick % entries.size() + 1); }));
  }
  Engine small(3000), large;
  for (const std::uint16_t pick : asked) {
    const Seq seq = pick % (entries.size() + 1);
    const State expected = stepwise(entries, seq);
    RC_ASSERT(at(small, *log, seq) == expected);
    RC_ASSERT(at(large, *log, seq) == expected);
    RC_ASSERT(small.held_bytes() <= 3000u);
  }
}

}  // namespace
}  // namespace weir
