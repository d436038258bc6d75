// Random trees: every way to a state gives the same state. WEIR_SEED=<number> runs the one tree a failure names.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "base/sha256.h"
#include "readcache/trust.h"
#include "session/fold.h"
#include "store/memory_log.h"
#include "testing/cached_reader.h"
#include "testing/effort.h"
#include "testing/log_access.h"
#include "testing/results.h"
#include "testing/rows.h"
#include "testing/trail_fold.h"

namespace weir {
namespace {

using testing::CachedReader;
using testing::must;

constexpr std::uint64_t kTrees = 10'000 / testing::one_in(8);
const std::string kPaths[] = {"/f", "/g"};

// Everything in a state that an answer may depend on.
std::string show(const TrustFold::State& state) {
  std::string out = fmt::format("{} entries {} seq {} turn {} not {} bad {} repeat {} {} {}\n", state.boundary, state.entries, state.seq,
                                state.turn, state.not_evidence, state.malformed, state.repeat.path, state.repeat.scope, state.repeat.count);
  state.paths.each([&](const std::string& path, const PathTrust& trust) {
    out += path + ": ";
    trust.slots.each(
        [&](const std::string& scope, const Slot& slot) { out += fmt::format("{}={}@{} ", scope, slot.version.substr(0, 6), slot.seq); });
    trust.totals.each([&](const std::string& version, LineNo total) { out += fmt::format("{}:{} ", version.substr(0, 6), total); });
    trust.view.each([&](LineRange lines, const std::shared_ptr<const Showing>& by) {
      out += fmt::format("{}-{} {} {} {} {} {} {}; ", lines.first, lines.last, by->version.substr(0, 6), by->seq, by->entry.str(),
                         by->shown_seq, by->turn, by->total);
    });
    trust.blocked.each([&](LineRange lines, bool) { out += fmt::format("!{}-{} ", lines.first, lines.last); });
    trust.evidence.each([&](const Evidence& each) {
      out += fmt::format("#{} {}{}{} ", each.seq, each.entry.str(), each.withdrawn ? "w" : "", each.uprooted ? "u" : "");
    });
    out += "\n";
  });
  return out;
}

class Tree {
 public:
  explicit Tree(std::uint64_t seed) : random_(seed) {
    reader_.options.range_diff = reader_.options.shift_map = true;
    reader_.options.answer.max_lines = 8;
    reader_.options.diff_ratios = {20, 20};
    reader_.options.view_intervals = chance(20) ? 2 : 4096;
    for (const std::string& path : kPaths) reader_.files[path] = testing::numbered(12, "{}");
    for (std::uint64_t n = 3 + upto(20); n > 0; --n) grow();
  }

  const CachedReader& reader() const { return reader_; }
  std::uint64_t upto(std::uint64_t most) { return random_() % (most + 1); }
  bool chance(int percent) { return upto(99) < static_cast<std::uint64_t>(percent); }

 private:
  void grow() {
    const std::string& path = kPaths[chance(20)];
    const std::size_t entries = reader_.entries().size();
    if (entries > 0 && chance(12)) reader_.head = upto(entries);
    switch (upto(11)) {
      case 0:
        reader_.compact();
        break;
      case 1:
        reader_.refresh(path, chance(30) ? "full" : fmt::format("r:{}:{}", 1 + upto(3), 4 + upto(6)));
        break;
      case 2:
      case 3:
        reader_.edit_context(EntryId::trusted(fmt::format("e{}", 1 + upto(entries))), chance(50));
        break;
      case 4:
        reader_.append("message", R"({"content":"x","role":"assistant"})");
        break;
      case 5:
        reader_.append("read", chance(50) ? "{}" : R"({"mode":"diff","v":1})");
        break;
      case 6:
        reader_.files[path] = testing::with_line(reader_.files[path], 1 + upto(11), fmt::format("x{}", upto(3)));
        break;
      case 7:
        reader_.read_by_message(path, some_lines(), chance(50) ? R"({"is_error":true})" : "{}");
        break;
      default:
        reader_.read(path, some_lines());
    }
  }
  testing::ReadAsk some_lines() {
    if (chance(50)) return {};
    const std::uint64_t first = 1 + upto(10);
    return {first, 1 + upto(6), chance(10)};
  }

  std::mt19937_64 random_;
  CachedReader reader_;
};

TrustFold::State at(FoldEngine<TrustFold>& engine, Log& log, Seq seq) {
  return *must(testing::read_from(log, [&](LogReader& reader) { return engine.at(reader, SessionNo{1}, seq); }));
}

void check_tree(std::uint64_t seed) {
  Tree tree(seed);
  const std::vector<Entry>& entries = tree.reader().entries();
  if (entries.empty()) return;
  TrustFold fold;
  fold.view_intervals = tree.reader().options.view_intervals;
  const auto log = make_memory_log();
  testing::store_rows(*log, entries);
  FoldEngine<TrustFold> small(fold, 1), large(fold);
  for (int asked = 0; asked < 6; ++asked) {
    const Seq seq = tree.upto(entries.size());
    const std::string expected = show(tree.reader().state(seq));
    // All of its path from the root, in one state that nobody shares.
    std::vector<Seq> path;
    for (Seq at = seq; at != 0; at = entries[at - 1].parent) path.push_back(at);
    TrustFold::State state = TrustFold::initial();
    for (auto it = path.rbegin(); it != path.rend(); ++it) must(fold.step(state, entries[*it - 1]));
    ASSERT_EQ(show(state), expected) << "WEIR_SEED=" << seed << " at " << seq;
    ASSERT_EQ(show(at(small, *log, seq)), expected) << "WEIR_SEED=" << seed << " at " << seq;
    ASSERT_EQ(show(at(large, *log, seq)), expected) << "WEIR_SEED=" << seed << " at " << seq;
    ASSERT_LT(TrustFold::bytes(state), 1'000'000u);
  }
}

// Case 49.
TEST(TrustPropertyTest, EveryWayToAStateGivesTheSame) {
  if (const char* seed = std::getenv("WEIR_SEED")) return check_tree(std::strtoull(seed, nullptr, 10));
  for (std::uint64_t tree = 0; tree < kTrees && !HasFailure(); ++tree) check_tree(4'000'000 + tree);
}

// What stood before the barrier is not even looked at.
// Case 51.
TEST(TrustPropertyTest, AStateCostsTheEntriesSinceTheBarrier) {
  CachedReader reader;
  reader.files["/f"] = "text";
  for (int i = 0; i < 300; ++i) reader.read("/f");
  reader.compact();
  for (int i = 0; i < 10; ++i) reader.read("/f");
  const auto log = make_memory_log();
  testing::store_rows(*log, reader.entries());
  FoldEngine<TrustFold> engine;
  EXPECT_EQ(show(at(engine, *log, 311)), show(reader.state()));
  EXPECT_EQ(engine.steps(), 11u);
}

}  // namespace
}  // namespace weir
