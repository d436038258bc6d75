// The fold of what was shown: every row of the transition table with its guard refused and accepted, refreshes, evidence.
#include "readcache/trust.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/sha256.h"
#include "json/canonical.h"
#include "testing/cached_reader.h"
#include "testing/results.h"
#include "testing/rows.h"

namespace weir {
namespace {

using testing::CachedReader;
using testing::must;

const std::string kFile = "/f";
const std::string kA = sha256("a").hex(), kB = sha256("b").hex(), kC = sha256("c").hex();
const std::map<std::string, std::string> kNames = {{kA, "A"}, {kB, "B"}, {kC, "C"}};

ReadRecord record(ReadMode mode, std::string_view scope, LineNo total, const std::string& served, const std::string& base,
                  std::vector<LineRange> shown) {
  ReadRecord out;
  out.mode = mode;
  out.path = kFile;
  const ReadScope parsed = *ReadScope::parse(scope);
  out.full_scope = parsed.full;
  out.range = parsed.full ? LineRange{1, total} : parsed.lines;
  out.total_lines = total;
  out.served = served;
  out.base = base;
  out.shown = std::move(shown);
  out.text_sha256 = sha256("text").hex();
  out.reason = "r";
  return out;
}
ReadRecord anchor(std::string_view scope, LineNo total, const std::string& served, std::vector<LineRange> shown) {
  return record(ReadMode::full, scope, total, served, "", std::move(shown));
}
ReadRecord unchanged(LineNo total, const std::string& base, const std::string& served) {
  return record(ReadMode::unchanged, "full", total, served, base, {});
}
ReadRecord unchanged_range(std::string_view scope, LineNo total, const std::string& base, const std::string& served) {
  return record(ReadMode::unchanged_range, scope, total, served, base, {});
}
ReadRecord diff(LineNo total, const std::string& base, const std::string& served, std::vector<LineRange> shown) {
  return record(ReadMode::diff, "full", total, served, base, std::move(shown));
}
ReadRecord range_diff(std::string_view scope, LineNo total, const std::string& base, const std::string& served,
                      std::vector<LineRange> shown) {
  return record(ReadMode::range_diff, scope, total, served, base, std::move(shown));
}

class TrustTest : public ::testing::Test {
 protected:
  void add(const ReadRecord& record) { log_.append_record(record); }
  std::string view() const { return log_.trust(kFile) == nullptr ? "" : testing::show_view(log_.trust(kFile)->view, kNames); }
  // "full=A@1 r:2:3=B@2"
  std::string slots() const {
    std::string out;
    if (log_.trust(kFile) == nullptr) return out;
    log_.trust(kFile)->slots.each([&](const std::string& scope, const Slot& slot) {
      out += fmt::format("{}{}={}@{}", out.empty() ? "" : " ", scope, kNames.at(slot.version), slot.seq);
    });
    return out;
  }
  bool blocked(LineNo first, LineNo last) const { return log_.trust(kFile)->blocked.touches({first, last}); }

  CachedReader log_;
};

// ---- anchors ----

TEST_F(TrustTest, AnAnchorSetsItsSlotAndTheLinesItShowed) {
  add(anchor("full", 9, kA, {{1, 5}}));
  EXPECT_EQ(slots(), "full=A@1");
  EXPECT_EQ(view(), "1-5 A by e1");
  add(anchor("r:4:7", 9, kB, {{4, 7}}));
  EXPECT_EQ(slots(), "full=A@1 r:4:7=B@2");
  EXPECT_EQ(view(), "1-3 A by e1; 4-7 B by e2");
}

TEST_F(TrustTest, AnAnchorThatShowedNothingSetsItsSlotOnly) {
  add(anchor("full", 9, kA, {}));
  EXPECT_EQ(slots(), "full=A@1");
  EXPECT_EQ(view(), "");
}

TEST_F(TrustTest, LinesBehindTheEndLeaveTheViewWithAnAnchor) {
  add(anchor("full", 9, kA, {{1, 9}}));
  add(anchor("r:1:2", 4, kB, {{1, 2}}));
  EXPECT_EQ(view(), "1-2 B by e2; 3-4 A by e1");
}

// ---- derived records alone ----

TEST_F(TrustTest, ADerivedRecordAloneLeavesNoSlotAndNoView) {
  for (const ReadRecord& derived :
       {unchanged(4, kA, kA), unchanged_range("r:2:3", 4, kA, kA), diff(4, kA, kB, {{1, 4}}), range_diff("r:2:3", 4, kA, kB, {{2, 3}})}) {
    log_ = CachedReader();
    add(derived);
    EXPECT_EQ(slots(), "") << mode_name(derived.mode);
    EXPECT_EQ(view(), "") << mode_name(derived.mode);
    EXPECT_EQ(log_.state().seq, 1u);
  }
}

// ---- unchanged ----

TEST_F(TrustTest, UnchangedCountsAgainstTheFullSlot) {
  add(anchor("full", 4, kA, {{1, 4}}));
  add(unchanged(4, kA, kA));
  EXPECT_EQ(slots(), "full=A@2");
  EXPECT_EQ(view(), "1-4 A by e1");
}

TEST_F(TrustTest, UnchangedCountsAgainstAVersionInTheView) {
  add(anchor("r:1:2", 4, kA, {{1, 2}}));
  add(anchor("r:3:4", 4, kB, {{3, 4}}));
  add(unchanged(4, kB, kC));
  EXPECT_EQ(slots(), "full=C@3 r:1:2=A@1 r:3:4=B@2");
  EXPECT_EQ(view(), "1-2 C by e1; 3-4 C by e2");
}

TEST_F(TrustTest, UnchangedIsRefusedWhereALineIsMissing) {
  add(anchor("full", 4, kA, {{1, 3}}));
  add(unchanged(4, kA, kA));
  EXPECT_EQ(slots(), "full=A@1");
}

TEST_F(TrustTest, UnchangedIsRefusedAgainstAnotherVersion) {
  add(anchor("full", 4, kA, {{1, 4}}));
  add(unchanged(4, kB, kB));
  EXPECT_EQ(slots(), "full=A@1");
  EXPECT_EQ(view(), "1-4 A by e1");
  // The slot alone is no base for another version: base and served must be it.
  add(anchor("r:1:4", 5, kB, {{1, 4}}));
  add(anchor("r:5:5", 5, kB, {{5, 5}}));
  add(unchanged(5, kA, kC));
  EXPECT_EQ(slots(), "full=A@1 r:1:4=B@3 r:5:5=B@4");
}

// ---- unchanged_range ----

TEST_F(TrustTest, UnchangedRangeCountsAgainstItsSlotTheFullSlotOrTheView) {
  add(anchor("r:2:3", 9, kA, {{2, 3}}));
  add(unchanged_range("r:2:3", 9, kA, kB));
  EXPECT_EQ(slots(), "r:2:3=B@2");
  EXPECT_EQ(view(), "2-3 B by e1");
  add(anchor("full", 9, kC, {{1, 9}}));
  add(unchanged_range("r:4:5", 9, kC, kA));
  EXPECT_EQ(view(), "1-3 C by e3; 4-5 A by e3; 6-9 C by e3");
  add(unchanged_range("r:5:6", 9, kA, kB));
  EXPECT_EQ(slots(), "full=C@3 r:2:3=B@2 r:4:5=A@4 r:5:6=B@5");
}

TEST_F(TrustTest, UnchangedRangeIsRefusedWhereALineIsMissing) {
  add(anchor("full", 9, kA, {{1, 5}}));
  add(unchanged_range("r:5:6", 9, kA, kA));
  EXPECT_EQ(slots(), "full=A@1");
}

TEST_F(TrustTest, UnchangedRangeIsRefusedAgainstAVersionThatIsNowhere) {
  add(anchor("full", 9, kA, {{1, 9}}));
  add(anchor("r:8:9", 9, kB, {{8, 9}}));
  add(unchanged_range("r:2:3", 9, kB, kC));  // B is in the view, but not there
  EXPECT_EQ(slots(), "full=A@1 r:8:9=B@2");
  EXPECT_EQ(view(), "1-7 A by e1; 8-9 B by e2");
}

TEST_F(TrustTest, AShiftedRangeCountsIfItsOldPlaceIsHeldInTheBase) {
  add(anchor("r:1:4", 9, kA, {{1, 4}}));
  ReadRecord shifted = unchanged_range("r:3:6", 11, kA, kB);
  shifted.from = LineRange{1, 4};
  add(shifted);
  EXPECT_EQ(slots(), "r:1:4=A@1 r:3:6=B@2");
  EXPECT_EQ(view(), "1-2 A by e1; 3-6 B by e1");
}

TEST_F(TrustTest, AShiftedRangeIsRefusedIfItsOldPlaceIsOfAnotherVersionAndIsForgottenAtItsNewOne) {
  add(anchor("full", 9, kA, {{1, 9}}));
  add(anchor("r:2:2", 9, kB, {{2, 2}}));
  ReadRecord shifted = unchanged_range("r:5:8", 9, kA, kC);
  shifted.from = LineRange{1, 4};
  add(shifted);
  EXPECT_EQ(slots(), "full=A@1 r:2:2=B@2");
  EXPECT_EQ(view(), "1-1 A by e1; 2-2 B by e2; 3-4 A by e1; 9-9 A by e1");
}

// ---- diff ----

TEST_F(TrustTest, ADiffOfABaseThatWasShownHoldsTheWholeFile) {
  add(anchor("full", 9, kA, {{1, 9}}));
  add(diff(8, kA, kB, {{3, 5}}));
  EXPECT_EQ(slots(), "full=B@2");
  EXPECT_EQ(view(), "1-2 B by e2; 3-5 B by e2; 6-8 B by e2");
}

TEST_F(TrustTest, ACutDiffHoldsWhatItSaysIsKnown) {
  add(anchor("full", 9, kA, {{1, 9}}));
  ReadRecord cut = diff(9, kA, kB, {{1, 3}});
  cut.known = {{1, 6}, {8, 9}};
  add(cut);
  EXPECT_EQ(view(), "1-3 B by e2; 4-6 B by e2; 8-9 B by e2");
}

TEST_F(TrustTest, ADiffOfABaseThatWasNotShownHoldsOnlyItsHunks) {
  add(anchor("full", 9, kA, {{1, 8}}));
  add(diff(9, kA, kB, {{3, 5}}));
  EXPECT_EQ(slots(), "full=B@2");
  EXPECT_EQ(view(), "3-5 B by e2");
}

TEST_F(TrustTest, ADiffAgainstAnotherVersionIsRefusedAndWhatItToldIsForgotten) {
  add(anchor("full", 9, kA, {{1, 9}}));
  add(diff(9, kB, kC, {{3, 5}}));
  EXPECT_EQ(slots(), "full=A@1");
  EXPECT_EQ(view(), "");  // the model saw hunks of C: A is not what it saw last
}

// ---- range_diff ----

TEST_F(TrustTest, ARangeDiffHoldsItsRange) {
  add(anchor("full", 9, kA, {{1, 9}}));
  add(range_diff("r:3:6", 9, kA, kB, {{4, 4}}));
  EXPECT_EQ(slots(), "full=A@1 r:3:6=B@2");
  EXPECT_EQ(view(), "1-2 A by e1; 3-3 B by e2; 4-4 B by e2; 5-6 B by e2; 7-9 A by e1");
}

TEST_F(TrustTest, ARangeDiffPastTheEndOfItsBaseNeedsWhatTheBaseHas) {
  add(anchor("r:3:5", 5, kA, {{3, 5}}));
  add(range_diff("r:3:8", 8, kA, kB, {{5, 8}}));
  EXPECT_EQ(slots(), "r:3:5=A@1 r:3:8=B@2");
  EXPECT_EQ(view(), "3-4 B by e2; 5-8 B by e2");
}

TEST_F(TrustTest, ARangeDiffIsRefusedWhereALineIsMissingOrTheBaseIsNowhere) {
  add(anchor("r:3:5", 9, kA, {{3, 5}}));
  add(range_diff("r:3:6", 9, kA, kB, {{4, 4}}));
  EXPECT_EQ(slots(), "r:3:5=A@1");
  EXPECT_EQ(view(), "");
  add(anchor("r:3:5", 9, kA, {{3, 5}}));
  add(range_diff("r:3:5", 9, kB, kC, {{4, 4}}));
  EXPECT_EQ(slots(), "r:3:5=A@3");
  EXPECT_EQ(view(), "");
}

// ---- base of a request, numbers ----

TEST_F(TrustTest, TheBaseOfARangeIsTheNewerSlotAndItsOwnOnATie) {
  PathTrust trust;
  const ReadScope range = *ReadScope::parse("r:2:4");
  EXPECT_EQ(trust.base(range), nullptr);
  trust.slots.set(std::string("r:2:4"), Slot{kA, 1});
  EXPECT_EQ(trust.base({}), nullptr);
  trust.slots.set(std::string("full"), Slot{kB, 2});
  EXPECT_EQ(trust.base(range)->version, kB);
  EXPECT_EQ(trust.base({})->version, kB);
  trust.slots.set(std::string("full"), Slot{kB, 1});
  EXPECT_EQ(trust.base(range)->version, kA);
  EXPECT_EQ(trust.base(*ReadScope::parse("r:2:5"))->version, kB);
}

TEST_F(TrustTest, EveryValidRecordTakesANumberAndNothingElseDoes) {
  add(anchor("full", 4, kA, {{1, 4}}));
  add(unchanged(4, kB, kB));                                   // refused
  log_.append("read", R"({"v":1})");                           // malformed
  log_.append("message", R"({"content":"x","role":"user"})");  // no record
  log_.refresh(kFile, "r:9:9");
  json::Arena arena;
  const std::string body = json::canonical(to_json(anchor("full", 4, kA, {{1, 4}}), arena));
  log_.append("message", R"({"is_error":true,"read":)" + body + R"(,"role":"tool"})");  // no evidence
  add(anchor("r:1:2", 4, kC, {{1, 2}}));
  EXPECT_EQ(slots(), "full=A@1 r:1:2=C@4");
  EXPECT_EQ(log_.state().seq, 4u);
  EXPECT_EQ(log_.state().malformed, 1u);
  EXPECT_EQ(log_.state().not_evidence, 1u);
  EXPECT_EQ(log_.state().entries, 7u);
}

TEST_F(TrustTest, TheIntervalsSeenLongestAgoAreForgottenFirst) {
  log_.options.view_intervals = 3;
  for (LineNo line : {9, 5, 1, 7, 3}) add(anchor(fmt::format("r:{}:{}", line, line), 20, kA, {{line, line}}));
  EXPECT_EQ(view(), "1-1 A by e3; 3-3 A by e5; 7-7 A by e4");
}

// ---- refresh ----

TEST_F(TrustTest, ARefreshOfTheFileTakesEverything) {
  add(anchor("full", 9, kA, {{1, 9}}));
  log_.refresh(kFile, "r:2:3");
  log_.refresh(kFile);
  EXPECT_EQ(slots(), "");
  EXPECT_EQ(view(), "");
  EXPECT_FALSE(blocked(1, 9));
  add(unchanged(9, kA, kA));
  EXPECT_EQ(slots(), "");
}

TEST_F(TrustTest, ARefreshOfARangeTakesItsSlotAndBlocksItsLines) {
  add(anchor("full", 9, kA, {{1, 9}}));
  add(anchor("r:2:5", 9, kA, {{2, 5}}));
  log_.refresh(kFile, "r:2:5");
  EXPECT_EQ(slots(), "full=A@1");
  EXPECT_TRUE(blocked(2, 2) && blocked(5, 5));
  EXPECT_FALSE(blocked(1, 1) || blocked(6, 9));
  add(unchanged(9, kA, kA));
  EXPECT_TRUE(blocked(2, 5));
  add(anchor("r:3:4", 9, kA, {{3, 4}}));
  EXPECT_FALSE(blocked(3, 4));
  EXPECT_TRUE(blocked(2, 2) && blocked(5, 5));
  add(diff(9, kA, kB, {{1, 2}}));
  EXPECT_FALSE(blocked(1, 4));
  EXPECT_TRUE(blocked(5, 5));
}

TEST_F(TrustTest, AMalformedRefreshIsCountedAndWithdrawsNothing) {
  add(anchor("full", 9, kA, {{1, 9}}));
  log_.append("refresh", R"({"path":"/f","scope":"r:9:2","v":1})");
  EXPECT_EQ(view(), "1-9 A by e1");
  EXPECT_EQ(log_.state().malformed, 1u);
}

// ---- barrier ----

TEST_F(TrustTest, ACompactionEmptiesAllOfIt) {
  EXPECT_EQ(log_.state().boundary, "root");
  add(anchor("full", 9, kA, {{1, 9}}));
  log_.refresh(kFile, "r:2:5");
  log_.compact();
  EXPECT_EQ(log_.state().boundary, "compaction:e3");
  EXPECT_EQ(log_.trust(kFile), nullptr);
  EXPECT_EQ(log_.state().seq, 0u);
  EXPECT_EQ(log_.state().entries, 0u);
  log_.edit_context(EntryId::trusted("e1"));  // before the barrier: nothing to withdraw
  EXPECT_EQ(log_.state().not_evidence, 0u);
}

TEST_F(TrustTest, TheReplayWindowStartsAfterTheLatestCompaction) {
  const auto window = [](std::size_t entries, std::optional<std::size_t> at) {
    const ReplayWindow out = replay_window(entries, at, "c");
    return fmt::format("{} {}", out.start, out.key);
  };
  EXPECT_EQ(window(4, 2), "3 compaction:c");
  EXPECT_EQ(window(3, 2), "3 compaction:c");
  EXPECT_EQ(window(4, std::nullopt), "0 root");
  EXPECT_EQ(window(0, std::nullopt), "0 root");
}

TEST_F(TrustTest, ABodyThatIsNoJsonIsCorrupt) {
  TrustFold::State state;
  EXPECT_EQ(testing::code(TrustFold().step(state, testing::make_row(1, nullptr, "read", "{"))), "CORRUPT");
  EXPECT_EQ(testing::code(TrustFold().step(state, testing::make_row(1, nullptr, "custom", "{"))), "OK");
}

}  // namespace
}  // namespace weir
