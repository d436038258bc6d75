// The conformance suite, second part: entries by digest and by prefix, and scans.
#include <gmock/gmock.h>

#include "testing/log_conformance.h"

namespace weir::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// n entries in a row, each under the one before.
std::vector<Entry> make_chain(std::size_t count) {
  std::vector<Entry> out;
  for (Seq seq = 1; seq <= count; ++seq)
    out.push_back(make_row(seq, out.empty() ? nullptr : &out.back(), "message", "{\"n\":" + std::to_string(seq) + "}"));
  return out;
}

Result<bool> go_on(bool yes) { return yes; }

}  // namespace

TEST_P(LogConformance, EntryIsFoundByDigestWhoeverChoseItsId) {
  const SessionRow session = make_session("s"), other = make_session("t");
  const Entry derived = make_row(1, nullptr, "message", R"({"n":1})");
  const Entry chosen = make_row(2, nullptr, "message", R"({"n":2})", "mine");
  const Entry longer =
      make_row(3, nullptr, "message", R"({"n":3})", entry_pointer(make_row(3, nullptr, "message", R"({"n":3})").digest, 11));
  insert(session.no, {derived, chosen, longer});
  const auto with = [&](SessionNo no, std::uint64_t prefix) {
    return must(read_from(log(), [&](LogReader& r) { return r.with_digest(no, prefix); }));
  };
  EXPECT_THAT(with(session.no, derived.digest.prefix64()), ElementsAre(1));
  EXPECT_THAT(with(session.no, chosen.digest.prefix64()), ElementsAre(2));
  EXPECT_THAT(with(session.no, longer.digest.prefix64()), ElementsAre(3));
  // The first 32 bits alone are not enough, and another session has none of them.
  EXPECT_THAT(with(session.no, derived.digest.prefix64() ^ 1), IsEmpty());
  EXPECT_THAT(with(session.no, chosen.digest.prefix64() ^ 1), IsEmpty());
  EXPECT_THAT(with(other.no, derived.digest.prefix64()), IsEmpty());
}

TEST_P(LogConformance, EntriesOfOneDigestAreFoundInTheirOrder) {
  const SessionRow session = make_session("s");
  const Entry derived = make_row(1, nullptr, "message", "{}");
  insert(session.no,
         {derived, make_row(2, nullptr, "message", "{}", "twin"), make_row(3, nullptr, "message", "{}", derived.id.str() + "!")});
  EXPECT_THAT(must(read_from(log(), [&](LogReader& r) { return r.with_digest(session.no, derived.digest.prefix64()); })),
              ElementsAre(1, 2, 3));
}

TEST_P(LogConformance, ManyForeignIdsDoNotHideADerivedOne) {
  const SessionRow session = make_session("s");
  std::vector<Entry> entries = {make_row(1, nullptr, "message", "{}")};
  const std::string shared = entries[0].id.str();
  entries[0].id = EntryId::trusted(entry_pointer(entries[0].digest, 12));
  for (Seq seq = 2; seq <= 101; ++seq)
    entries.push_back(make_row(seq, nullptr, "custom", "{\"n\":" + std::to_string(seq) + "}", shared + "!" + std::to_string(seq)));
  insert(session.no, entries);
  EXPECT_THAT(must(read_from(log(), [&](LogReader& r) { return r.with_digest(session.no, entries[0].digest.prefix64()); })),
              ElementsAre(1));
}

TEST_P(LogConformance, IdPrefixAnswersInByteOrderAndAtMostSoMany) {
  const SessionRow session = make_session("s"), other = make_session("t");
  std::vector<Entry> entries;
  for (const std::string id : {"abc2", "abc", "ab%", "ab_x", "abC", "abc10", "b", "\xc3\xa4 b"})
    entries.push_back(make_row(entries.size() + 1, nullptr, "custom", "{}", id));
  insert(session.no, entries);
  const auto with = [&](SessionNo no, std::string_view prefix, std::size_t most = 100) {
    return must(read_from(log(), [&](LogReader& r) { return r.with_id_prefix(no, prefix, most); }));
  };
  EXPECT_THAT(with(session.no, "abc"), ElementsAre(2, 6, 1));
  EXPECT_THAT(with(session.no, "abc", 2), ElementsAre(2, 6));
  EXPECT_THAT(with(session.no, "abc", 0), IsEmpty());
  EXPECT_THAT(with(session.no, "ab%"), ElementsAre(3));
  EXPECT_THAT(with(session.no, "ab_"), ElementsAre(4));
  EXPECT_THAT(with(session.no, "ab"), ElementsAre(3, 5, 4, 2, 6, 1));
  EXPECT_THAT(with(session.no, "\xc3"), ElementsAre(8));
  EXPECT_EQ(with(session.no, "").size(), 8u);
  EXPECT_THAT(with(session.no, "abc100"), IsEmpty());
  EXPECT_THAT(with(other.no, "abc"), IsEmpty());
}

TEST_P(LogConformance, ScanGoesBothWaysOverTheRangeThatIsThere) {
  const SessionRow neighbour = make_furnished_session("a"), session = make_session("b");
  make_furnished_session("c");
  insert(session.no, make_chain(10));
  const auto scan = [&](SessionNo no, Seq first, Seq last, Order order) {
    std::vector<Seq> seen;
    must(log().read([&](LogReader& r) {
      return r.scan(no, first, last, order, Columns::without_body, [&](Entry& entry) {
        seen.push_back(entry.seq);
        return go_on(true);
      });
    }));
    return seen;
  };
  EXPECT_THAT(scan(session.no, 3, 6, Order::forward), ElementsAre(3, 4, 5, 6));
  EXPECT_THAT(scan(session.no, 3, 6, Order::backward), ElementsAre(6, 5, 4, 3));
  EXPECT_THAT(scan(session.no, 0, 2, Order::forward), ElementsAre(1, 2));
  EXPECT_THAT(scan(session.no, 9, ~Seq{0}, Order::backward), ElementsAre(10, 9));
  EXPECT_THAT(scan(session.no, 10, 10, Order::forward), ElementsAre(10));
  EXPECT_THAT(scan(session.no, 7, 6, Order::forward), IsEmpty());
  EXPECT_THAT(scan(session.no, 11, 20, Order::backward), IsEmpty());
  EXPECT_THAT(scan(neighbour.no, 1, 100, Order::backward), ElementsAre(4, 3, 2, 1));
  EXPECT_THAT(scan(SessionNo{999}, 1, 100, Order::forward), IsEmpty());
}

TEST_P(LogConformance, ScanGivesWholeEntriesOrTheSameWithoutBodies) {
  const SessionRow session = make_session("s");
  const std::vector<Entry> chain = make_chain(5);
  insert(session.no, chain);
  for (const Order order : {Order::forward, Order::backward}) {
    for (const Columns columns : {Columns::all, Columns::without_body}) {
      std::vector<std::string> seen, expected;
      must(log().read([&](LogReader& r) {
        return r.scan(session.no, 1, 5, order, columns, [&](Entry& entry) {
          seen.push_back(show(entry));
          return go_on(true);
        });
      }));
      for (std::size_t i = 0; i < chain.size(); ++i) {
        Entry entry = chain[order == Order::forward ? i : chain.size() - 1 - i];
        if (columns == Columns::without_body) entry.body.clear();
        expected.push_back(show(entry));
      }
      EXPECT_EQ(seen, expected);
    }
  }
}

TEST_P(LogConformance, ScanEndsWhenTheVisitorSaysSoOrFails) {
  const SessionRow session = make_session("s");
  insert(session.no, make_chain(10));
  int visits = 0;
  must(log().read(
      [&](LogReader& r) { return r.scan(session.no, 1, 10, Order::forward, Columns::all, [&](Entry&) { return go_on(++visits < 4); }); }));
  EXPECT_EQ(visits, 4);
  const auto failed = log().read([&](LogReader& r) {
    return r.scan(session.no, 1, 10, Order::backward, Columns::all, [&](Entry& entry) -> Result<bool> {
      if (entry.seq == 8) return Error(ErrorCode::CANCELLED, "enough").with("at", std::int64_t{8});
      return true;
    });
  });
  ASSERT_EQ(code(failed), "CANCELLED");
  EXPECT_EQ(failed.error().message(), "enough");
  EXPECT_EQ(detail(failed.error(), "at"), "8");
}

TEST_P(LogConformance, VisitorOfAScanMayReadAndScan) {
  const SessionRow session = make_session("s");
  insert(session.no, make_chain(4));
  std::vector<Seq> seen;
  must(log().read([&](LogReader& r) {
    return r.scan(session.no, 1, 3, Order::forward, Columns::all, [&](Entry& outer) -> Result<bool> {
      TRY(const auto same, r.find(session.no, outer.id, Columns::all));
      seen.push_back(same->seq);
      TRY_DO(r.scan(session.no, outer.seq + 1, 4, Order::forward, Columns::all, [&](Entry& inner) {
        seen.push_back(10 * outer.seq + inner.seq);
        return go_on(true);
      }));
      return true;
    });
  }));
  EXPECT_THAT(seen, ElementsAre(1, 12, 13, 14, 2, 23, 24, 3, 34));
}

}  // namespace weir::testing
