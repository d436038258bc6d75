// The conformance suite, third part: transactions, one at a time.
#include <gmock/gmock.h>

#include "testing/log_conformance.h"

namespace weir::testing {
namespace {

// One write of every kind, to a session that is there.
Result<void> write_everything(LogTxn& txn, const SessionRow& session) {
  TRY(const SessionRow made, txn.create_session(SessionId::trusted("made"), TimeMs{5}));
  const Entry root = make_row(1, nullptr, "message", R"({"made":1})");
  TRY_DO(txn.insert(made.no, root));
  TRY_DO(txn.set_head(made.no, HeadName::trusted("main"), 1));
  TRY(const Seq last, txn.last_seq(session.no));
  const Entry first = make_row(last + 1, nullptr, "custom", R"({"w":1})");
  TRY_DO(txn.insert(session.no, first));
  TRY_DO(txn.insert(session.no, make_row(last + 2, &first, "custom", R"({"w":2})")));
  TRY_DO(txn.set_head(session.no, HeadName::trusted("main"), last + 2));
  TRY_DO(txn.set_head(session.no, HeadName::trusted("new"), last + 1));
  TRY_DO(txn.delete_head(session.no, HeadName::trusted("side")));
  TRY_DO(txn.set_source(session.no, R"({"format":"other"})"));
  TRY_DO(txn.save_checkpoint(session.no, "a", {2, "another state of a"}));
  TRY_DO(txn.save_checkpoint(session.no, "b", {1, "state of b"}));
  TRY_DO(txn.add_undelivered(session.no, 77, 2));
  TRY_DO(txn.drop_undelivered(session.no, 77, 1));
  TRY_DO(txn.add_masked(session.no, {{"jwt", 1}, {"bearer", 1}}));
  TRY_DO(txn.mark_purged(PurgedSession{SessionNo{77}, sha256("name"), 3, sha256("last"), TimeMs{9}}));
  return txn.mark_purged(sha256("purged"));
}

Error change_of_mind() { return Error(ErrorCode::INVALID_FIELD, "changed my mind").with("why", "no reason"); }

}  // namespace

TEST_P(LogConformance, SuccessfulWriteIsThereAsAWhole) {
  const SessionRow session = make_furnished_session("s");
  const std::string before = dump(log());
  must(write_to(log(), [&](LogTxn& txn) { return write_everything(txn, session); }));
  const std::string after = dump(log());
  EXPECT_NE(after, before);
  for (const std::string line :
       {"session made created 5 source ''\n  head main at 1\n", "  head main at 6\n  head new at 5\n", "  undelivered 77 at 2\n",
        "  checkpoint a at 2: another state of a\n", "  checkpoint b at 1: state of b\n", "  masked bearer 1\n  masked jwt 3\n",
        "\npurged session 77 ", "source '{\"format\":\"other\"}'"}) {
    EXPECT_THAT(after, ::testing::HasSubstr(line));
  }
  EXPECT_THAT(after, ::testing::EndsWith("purged " + sha256("purged").hex() + "\n"));
  EXPECT_THAT(after, ::testing::Not(::testing::HasSubstr("side")));
}

TEST_P(LogConformance, AnswersOnTheirWayAreCountedByFileAndRead) {
  const SessionRow session = make_session("s"), other = make_session("t");
  const auto add = [&](const SessionRow& to, std::uint64_t path, Seq seq) {
    must(write_to(log(), [&](LogTxn& txn) { return txn.add_undelivered(to.no, path, seq); }));
  };
  const auto drop = [&](std::uint64_t path, Seq seq) {
    must(log().write([&](LogTxn& txn) { return txn.drop_undelivered(session.no, path, seq); }, Log::Grouping::hint));
  };
  const auto noted = [&](std::uint64_t path) {
    return must(read_from(log(), [&](LogReader& reader) { return reader.undelivered(session.no, path); }));
  };
  constexpr std::uint64_t kHigh = 0xfedcba9876543210u;
  for (const Seq seq : {9, 3, 3}) add(session, kHigh, seq);
  add(session, 1, 4);
  add(other, kHigh, 5);
  EXPECT_EQ(noted(kHigh), (std::vector<Seq>{3, 3, 9}));
  EXPECT_EQ(noted(2), std::vector<Seq>{});
  drop(kHigh, 3);
  EXPECT_EQ(noted(kHigh), (std::vector<Seq>{3, 9}));
  drop(kHigh, 3);
  drop(kHigh, 3);
  EXPECT_EQ(noted(kHigh), std::vector<Seq>{9});
  EXPECT_EQ(must(read_from(log(), [&](LogReader& reader) { return reader.count_undelivered(session.no); })), 2u);
  if (GetParam().durable) reopen();
  EXPECT_EQ(noted(1), std::vector<Seq>{4});
  must(write_to(log(), [&](LogTxn& txn) { return txn.delete_session(session.no); }));
  EXPECT_EQ(noted(1), std::vector<Seq>{});
  EXPECT_EQ(must(read_from(log(), [&](LogReader& reader) { return reader.count_undelivered(other.no); })), 1u);
}

TEST_P(LogConformance, BodyThatFailsAfterWritingLeavesNothing) {
  const SessionRow session = make_furnished_session("s");
  const std::string before = dump(log());
  for (const auto grouping : {Log::Grouping::shared, Log::Grouping::alone, Log::Grouping::hint}) {
    const auto failed = log().write(
        [&](LogTxn& txn) -> Result<void> {
          TRY_DO(write_everything(txn, session));
          return change_of_mind();
        },
        grouping);
    ASSERT_EQ(code(failed), "INVALID_FIELD");
    EXPECT_EQ(failed.error().message(), "changed my mind");
    EXPECT_EQ(detail(failed.error(), "why"), "no reason");
    EXPECT_EQ(dump(log()), before);
  }
  // What comes after goes on as if nothing had been tried.
  must(write_to(log(), [&](LogTxn& txn) { return write_everything(txn, session); }));
  EXPECT_EQ(must(read_from(log(), [&](LogReader& r) { return r.last_seq(session.no); })), 6u);
}

TEST_P(LogConformance, BodyThatDeletesASessionAndFailsBringsItBackWithWhatItWroteBefore) {
  const SessionRow session = make_furnished_session("s");
  const std::string before = dump(log());
  const auto failed = log().write([&](LogTxn& txn) -> Result<void> {
    TRY_DO(write_everything(txn, session));
    TRY_DO(txn.delete_session(session.no));
    TRY(const SessionRow again, txn.create_session(session.id, TimeMs{7}));
    TRY_DO(txn.insert(again.no, make_row(1, nullptr, "message", "{}")));
    TRY_DO(txn.delete_session(again.no));
    return change_of_mind();
  });
  EXPECT_EQ(code(failed), "INVALID_FIELD");
  EXPECT_EQ(dump(log()), before);
}

TEST_P(LogConformance, TryWriteKeepsNothingAndAnswersWhatTheBodyAnswered) {
  const SessionRow session = make_furnished_session("s");
  const std::string before = dump(log());
  Seq seen = 0;
  EXPECT_EQ(code(log().try_write([&](LogTxn& txn) -> Result<void> {
              TRY_DO(write_everything(txn, session));
              TRY(seen, txn.last_seq(session.no));
              return {};
            })),
            "OK");
  EXPECT_EQ(seen, 6u);
  EXPECT_EQ(dump(log()), before);
  const auto failed = log().try_write([&](LogTxn& txn) -> Result<void> {
    TRY_DO(write_everything(txn, session));
    return change_of_mind();
  });
  ASSERT_EQ(code(failed), "INVALID_FIELD");
  EXPECT_EQ(detail(failed.error(), "why"), "no reason");
  EXPECT_EQ(dump(log()), before);
  EXPECT_EQ(code(log().try_write([](LogTxn&) -> Result<void> { return {}; })), "OK");
}

TEST_P(LogConformance, BodySeesWhatItHasWritten) {
  make_furnished_session("s");
  must(write_to(log(), [&](LogTxn& txn) -> Result<void> {
    TRY(const auto session, txn.session(SessionId::trusted("s")));
    TRY_DO(write_everything(txn, *session));
    TRY(const auto made, txn.session(SessionId::trusted("made")));
    EXPECT_TRUE(made.has_value());
    TRY(const auto entry, txn.entry(session->no, 6, Columns::all));
    EXPECT_EQ(entry->body, R"({"w":2})");
    TRY(const auto found, txn.find(session->no, entry->id, Columns::without_body));
    EXPECT_EQ(found->seq, 6u);
    TRY(const auto with_digest, txn.with_digest(session->no, entry->digest.prefix64()));
    EXPECT_EQ(with_digest, std::vector<Seq>{6});
    TRY(const auto head, txn.head(session->no, HeadName::trusted("new")));
    EXPECT_EQ(head, std::optional<Seq>(5));
    TRY(const auto side, txn.head(session->no, HeadName::trusted("side")));
    EXPECT_EQ(side, std::nullopt);
    TRY(const auto state, txn.checkpoint(session->no, "a", 2));
    EXPECT_EQ(state->state, "another state of a");
    TRY(const auto masked, txn.masked(session->no));
    EXPECT_EQ(masked.at("jwt"), 3u);
    TRY(const auto purged, txn.purged_blobs());
    EXPECT_EQ(purged.size(), 1u);
    return {};
  }));
}

TEST_P(LogConformance, SyncOfWhatWasCommittedMayStandAmongWritesAndChangesNothing) {
  const SessionRow session = make_furnished_session("s");
  const std::string before = dump(log());
  must(write_to(log(), [](LogTxn& txn) { return txn.sync_committed(); }));
  EXPECT_EQ(dump(log()), before);
  must(write_to(log(), [&](LogTxn& txn) -> Result<void> {
    TRY_DO(txn.set_head(session.no, HeadName::trusted("side"), 1));
    TRY_DO(txn.sync_committed());
    return txn.set_head(session.no, HeadName::trusted("main"), 2);
  }));
  EXPECT_THAT(dump(log()), ::testing::HasSubstr("  head main at 2\n  head side at 1\n"));
}

TEST_P(LogConformance, DeletedSessionLeavesNothingAndTouchesNoOther) {
  const SessionRow kept = make_furnished_session("kept");
  const std::string before = dump(log());
  const SessionRow gone = make_furnished_session("gone");
  must(write_to(log(), [&](LogTxn& txn) { return txn.delete_session(gone.no); }));
  EXPECT_EQ(dump(log()), before);
  must(log().read([&](LogReader& r) -> Result<void> {
    TRY(const auto session, r.session(gone.id));
    EXPECT_FALSE(session.has_value());
    TRY(const Seq last, r.last_seq(gone.no));
    EXPECT_EQ(last, 0u);
    TRY(const auto heads, r.heads(gone.no));
    EXPECT_TRUE(heads.empty());
    TRY(const auto found, r.find(gone.no, EntryId::trusted("second"), Columns::all));
    EXPECT_FALSE(found.has_value());
    TRY(const auto prefixed, r.with_id_prefix(gone.no, "", 10));
    EXPECT_TRUE(prefixed.empty());
    TRY(const auto checkpoints, r.checkpoints(gone.no, "a"));
    EXPECT_TRUE(checkpoints.empty());
    TRY(const auto masked, r.masked(gone.no));
    EXPECT_TRUE(masked.empty());
    TRY(const auto other, r.last_seq(kept.no));
    EXPECT_EQ(other, 4u);
    return {};
  }));
}

TEST_P(LogConformance, SessionOfADeletedOnesNameStartsEmptyUnderANewNumber) {
  const SessionRow first = make_furnished_session("s");
  must(write_to(log(), [&](LogTxn& txn) { return txn.delete_session(first.no); }));
  const SessionRow second = make_session("s", 77);
  EXPECT_GT(second.no, first.no);
  EXPECT_EQ(dump(log()), "session s created 77 source ''\n");
  // Also when everything is gone and the log was closed in between.
  must(write_to(log(), [&](LogTxn& txn) { return txn.delete_session(second.no); }));
  if (GetParam().durable) reopen();
  EXPECT_GT(make_session("t").no, second.no);
}

TEST_P(LogConformance, WhatWasWrittenIsThereAfterReopening) {
  if (!GetParam().durable) GTEST_SKIP() << "lives as long as the object";
  const SessionRow session = make_furnished_session("s");
  const std::string before = dump(log());
  EXPECT_THAT(before, ::testing::HasSubstr("head side at 4"));
  EXPECT_EQ(code(log().write([&](LogTxn& txn) -> Result<void> {
              TRY_DO(write_everything(txn, session));
              return change_of_mind();
            })),
            "INVALID_FIELD");
  reopen();
  EXPECT_EQ(dump(log()), before);
  EXPECT_TRUE(must(log().check_structure(false)).empty());
}

}  // namespace weir::testing
