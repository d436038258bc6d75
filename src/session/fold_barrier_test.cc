// Folds that start at the barrier, and folds with options of their own.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "session/fold_engine.h"
#include "store/memory_log.h"
#include "testing/log_access.h"
#include "testing/results.h"
#include "testing/rows.h"
#include "testing/trail_fold.h"

namespace weir {
namespace {

using testing::must;
using testing::Trail;

// Tells the path since the last compaction, that one included.
struct SinceBarrier {
  static constexpr std::string_view kName = "since";
  static constexpr bool kStartsAtBarrier = true;
  using State = Trail;
  static State initial() { return {}; }
  static Result<void> step(State& state, const Entry& entry) {
    if (entry.type == "compaction") state = {};
    return testing::TrailFold::step(state, entry);
  }
  static std::size_t bytes(const State&) { return 1000; }
};

// The same, saved beside the log.
struct SavedSinceBarrier : SinceBarrier {
  static std::string save(const State& state) { return testing::TrailFold::save(state); }
  static Result<State> load(std::string_view text) { return testing::TrailFold::load(text); }
};

// Counts every entry as many times as it was told to.
struct Times {
  using State = std::uint64_t;
  std::uint64_t factor = 1;
  static State initial() { return 0; }
  Result<void> step(State& state, const Entry&) const {
    state += factor;
    return {};
  }
  static std::size_t bytes(const State&) { return 8; }
};

template <typename F>
typename F::State at(FoldEngine<F>& engine, Log& log, Seq seq) {
  return *must(testing::read_from(log, [&](LogReader& reader) { return engine.at(reader, SessionNo{1}, seq); }));
}

Trail from_the_root(const std::vector<Entry>& entries, Seq seq) {
  if (seq == 0) return {};
  Trail state = from_the_root(entries, entries[seq - 1].parent);
  must(SinceBarrier::step(state, entries[seq - 1]));
  return state;
}

std::vector<Entry> chain_with_compactions(std::size_t count, const std::vector<Seq>& compactions) {
  std::vector<Entry> out;
  out.reserve(count);
  for (Seq seq = 1; seq <= count; ++seq) {
    const bool barrier = std::find(compactions.begin(), compactions.end(), seq) != compactions.end();
    out.push_back(
        testing::make_row(seq, out.empty() ? nullptr : &out.back(), barrier ? "compaction" : "message", "{}", "n" + std::to_string(seq)));
  }
  return out;
}

TEST(FoldBarrierTest, AStateCostsTheEntriesFromTheBarrierOn) {
  const auto log = make_memory_log();
  const std::vector<Entry> entries = chain_with_compactions(100, {40, 90});
  testing::store_rows(*log, entries);
  FoldEngine<SinceBarrier> engine;
  EXPECT_EQ(at(engine, *log, 100), from_the_root(entries, 100));
  EXPECT_EQ(engine.steps(), 11u);
  EXPECT_EQ(at(engine, *log, 90), from_the_root(entries, 90));
  EXPECT_EQ(engine.steps(), 12u);
  EXPECT_EQ(at(engine, *log, 89), from_the_root(entries, 89));
  EXPECT_EQ(engine.steps(), 12u + 50);
  EXPECT_EQ(at(engine, *log, 39), from_the_root(entries, 39));
  EXPECT_EQ(engine.steps(), 12u + 50 + 39);
}

TEST(FoldBarrierTest, ABranchIsWalkedBackToItsBarrierOnly) {
  const auto log = make_memory_log();
  std::vector<Entry> entries = chain_with_compactions(100, {40});
  const Entry fork = entries[59];
  for (Seq seq = 101; seq <= 110; ++seq)
    entries.push_back(testing::make_row(seq, seq == 101 ? &fork : &entries.back(), "message", "{}", "n" + std::to_string(seq)));
  testing::store_rows(*log, entries);
  FoldEngine<SinceBarrier> engine;
  EXPECT_EQ(at(engine, *log, 110), from_the_root(entries, 110));
  EXPECT_EQ(engine.steps(), 21u + 10);
}

TEST(FoldBarrierTest, AnInstanceStepsWithItsOwnOptions) {
  const auto log = make_memory_log();
  testing::store_rows(*log, testing::make_chain(10));
  FoldEngine<Times> once, thrice(Times{3});
  EXPECT_EQ(at(once, *log, 10), 10u);
  EXPECT_EQ(at(thrice, *log, 10), 30u);
  EXPECT_EQ(at(thrice, *log, 4), 12u);
}

RC_GTEST_PROP(FoldBarrierPropertyTest, StartingAtTheBarrierGivesWhatAllEntriesGive, ()) {
  const auto choices = *rc::gen::scale(2.0, rc::gen::nonEmpty(rc::gen::arbitrary<std::vector<std::pair<std::uint8_t, std::uint16_t>>>()));
  std::vector<Entry> entries;
  entries.reserve(choices.size());
  for (const auto& [how, pick] : choices) {
    const Entry* parent = entries.empty() || how % 16 == 0 ? nullptr : how % 16 < 4 ? &entries[pick % entries.size()] : &entries.back();
    entries.push_back(testing::make_row(entries.size() + 1, parent, how % 7 == 0 ? "compaction" : "message",
                                        "{\"n\":" + std::to_string(how) + "}", "n" + std::to_string(entries.size() + 1)));
  }
  const auto log = make_memory_log();
  testing::store_rows(*log, entries);
  FoldEngine<SavedSinceBarrier> saving;
  for (const std::uint16_t pick : *rc::gen::resize(4, rc::gen::container<std::vector<std::uint16_t>>(rc::gen::arbitrary<std::uint16_t>())))
    must(testing::write_to(*log, [&](LogTxn& txn) { return saving.save(txn, SessionNo{1}, pick % entries.size() + 1); }));
  FoldEngine<SinceBarrier> small(1), large;
  FoldEngine<SavedSinceBarrier> saved;
  for (const std::uint16_t pick : *rc::gen::container<std::vector<std::uint16_t>>(rc::gen::arbitrary<std::uint16_t>())) {
    const Seq seq = pick % (entries.size() + 1);
    const Trail expected = from_the_root(entries, seq);
    RC_ASSERT(at(small, *log, seq) == expected);
    RC_ASSERT(at(large, *log, seq) == expected);
    RC_ASSERT(at(saved, *log, seq) == expected);
  }
}

}  // namespace
}  // namespace weir
