// The conformance suite, first part: rows go in and come out. And the logs that have to pass it.
#include "testing/log_conformance.h"

#include <filesystem>

#include "base/limits.h"
#include "store/memory_log.h"
#include "store/sqlite_log.h"

namespace weir::testing {
namespace {

LogFactory sqlite_factory() {
  return {"sqlite", [](const std::string& directory) -> std::unique_ptr<Log> {
            const std::string path = directory + "/weir.db";
            if (!std::filesystem::exists(path)) write_file(path, "");
            return must(SqliteLog::open(path, SqliteLog::Access::write, {}));
          }};
}

LogFactory memory_factory() {
  return {"memory", [](const std::string&) { return make_memory_log(); }, false, false};
}

std::vector<std::string> ids(const std::vector<SessionRow>& rows) {
  std::vector<std::string> out;
  for (const SessionRow& row : rows) out.push_back(row.id.str());
  return out;
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(Logs, LogConformance, ::testing::Values(sqlite_factory(), memory_factory()),
                         [](const auto& instance) { return instance.param.name; });

TEST_P(LogConformance, NewLogIsEmptyAndSound) {
  EXPECT_EQ(dump(log()), "");
  EXPECT_TRUE(must(log().check_structure(false)).empty());
  EXPECT_TRUE(must(log().check_structure(true)).empty());
}

TEST_P(LogConformance, SessionsAreListedByIdAndFoundByName) {
  make_session("b", 20);
  make_session("a", -10);
  make_session("B", 30);
  EXPECT_EQ(ids(must(read_from(log(), [](LogReader& r) { return r.sessions(); }))), (std::vector<std::string>{"B", "a", "b"}));
  const auto found = must(read_from(log(), [](LogReader& r) { return r.session(SessionId::trusted("a")); }));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->id.str(), "a");
  EXPECT_EQ(found->created.ms, -10);
  EXPECT_EQ(found->source, "");
  EXPECT_FALSE(must(read_from(log(), [](LogReader& r) { return r.session(SessionId::trusted("A")); })).has_value());
}

TEST_P(LogConformance, SourceOfASessionIsKeptAndReplaced) {
  const SessionRow session = make_session("s");
  for (const std::string source : {R"({"format":"pi"})", R"({"format":"codex","lines":12})"}) {
    must(write_to(log(), [&](LogTxn& txn) { return txn.set_source(session.no, source); }));
    EXPECT_EQ(must(read_from(log(), [](LogReader& r) { return r.session(SessionId::trusted("s")); }))->source, source);
  }
  EXPECT_EQ(code(write_to(log(), [](LogTxn& txn) { return txn.set_source(SessionNo{999}, "{}"); })), "NOT_FOUND");
}

TEST_P(LogConformance, EverySessionCountsItsEntriesFromOne) {
  const SessionRow one = make_session("one"), other = make_session("other");
  const auto last = [&](SessionNo no) { return must(read_from(log(), [&](LogReader& r) { return r.last_seq(no); })); };
  EXPECT_EQ(last(one.no), 0u);
  const Entry first = make_row(1, nullptr, "message", "{}");
  insert(one.no, {first, make_row(2, &first, "message", "{}")});
  EXPECT_EQ(last(one.no), 2u);
  EXPECT_EQ(last(other.no), 0u);
  insert(other.no, {first});
  EXPECT_EQ(last(other.no), 1u);
  EXPECT_EQ(last(SessionNo{999}), 0u);
}

TEST_P(LogConformance, HeadsStandWhereTheyWereSetUntilDeleted) {
  const SessionRow session = make_furnished_session("s"), other = make_session("t");
  const auto head = [&](SessionNo no, std::string_view name) {
    return must(read_from(log(), [&](LogReader& r) { return r.head(no, HeadName::trusted(name)); }));
  };
  EXPECT_EQ(head(session.no, "main"), std::optional<Seq>(3));
  EXPECT_EQ(head(session.no, "side"), std::optional<Seq>(4));
  EXPECT_EQ(head(session.no, "Main"), std::nullopt);
  EXPECT_EQ(head(other.no, "main"), std::nullopt);
  set_head(session.no, "main", 1);
  set_head(session.no, "before", 0);
  EXPECT_EQ(head(session.no, "main"), std::optional<Seq>(1));
  EXPECT_EQ(head(session.no, "before"), std::optional<Seq>(0));
  must(write_to(log(), [&](LogTxn& txn) { return txn.delete_head(session.no, HeadName::trusted("main")); }));
  EXPECT_EQ(head(session.no, "main"), std::nullopt);
  const auto rows = must(read_from(log(), [&](LogReader& r) { return r.heads(session.no); }));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].name.str(), "before");
  EXPECT_EQ(rows[1].name.str(), "side");
}

TEST_P(LogConformance, EntryComesBackWithEveryField) {
  const SessionRow session = make_session("s");
  const Entry root = make_row(1, nullptr, "compaction", "{}");
  Entry odd = make_row(2, &root, "x.y:z-1", "{\"t\":\"" + std::string(70000, 'q') + "\xc3\xa9\"}", "\xc3\xa4/%_'\"~2");
  odd.at = TimeMs{-62167219200000};
  odd.imported = true;
  insert(session.no, {root, odd});
  const auto read = [&](Seq seq, Columns columns) {
    return must(read_from(log(), [&](LogReader& r) { return r.entry(session.no, seq, columns); }));
  };
  EXPECT_EQ(show(*read(1, Columns::all)), show(root));
  EXPECT_EQ(show(*read(2, Columns::all)), show(odd));
  odd.body.clear();
  EXPECT_EQ(show(*read(2, Columns::without_body)), show(odd));
  EXPECT_EQ(root.barrier, 1u);
  EXPECT_EQ(odd.barrier, 1u);
}

TEST_P(LogConformance, EntriesThatAreNotThereAreNothing) {
  const SessionRow first = make_furnished_session("a"), second = make_furnished_session("b"), empty = make_session("c");
  const auto there = [&](SessionNo no, Seq seq) {
    return must(read_from(log(), [&](LogReader& r) { return r.entry(no, seq, Columns::all); })).has_value();
  };
  EXPECT_TRUE(there(first.no, 4));
  // Numbers beyond the largest seq reach into no other session.
  for (const Seq seq : {Seq{0}, Seq{5}, limits::kSeq, limits::kSeq + 1, limits::kSeq + 2, (limits::kSeq + 1) * 2 + 1, ~Seq{0}}) {
    EXPECT_FALSE(there(first.no, seq)) << seq;
    EXPECT_FALSE(there(second.no, seq)) << seq;
  }
  EXPECT_FALSE(there(empty.no, 1));
  EXPECT_FALSE(there(SessionNo{999}, 1));
}

TEST_P(LogConformance, FindTakesTheWholeIdInItsOwnSessionOnly) {
  const SessionRow session = make_furnished_session("s"), other = make_session("t");
  const auto find = [&](SessionNo no, std::string_view id, Columns columns = Columns::all) {
    return must(read_from(log(), [&](LogReader& r) { return r.find(no, EntryId::trusted(id), columns); }));
  };
  ASSERT_TRUE(find(session.no, "second").has_value());
  EXPECT_EQ(find(session.no, "second")->seq, 2u);
  EXPECT_EQ(find(session.no, "second")->body, R"({"n":2})");
  EXPECT_EQ(find(session.no, "second", Columns::without_body)->body, "");
  for (const std::string_view absent : {"secon", "second2", "Second", "second ", "%"})
    EXPECT_FALSE(find(session.no, absent).has_value()) << absent;
  EXPECT_FALSE(find(other.no, "second").has_value());
}

TEST_P(LogConformance, MaskedCountsAddUpPerFamilyAndSession) {
  const SessionRow session = make_session("s"), other = make_session("t");
  const auto add = [&](SessionNo no, const MaskCounts& counts) {
    must(write_to(log(), [&](LogTxn& txn) { return txn.add_masked(no, counts); }));
  };
  const auto masked = [&](SessionNo no) { return must(read_from(log(), [&](LogReader& r) { return r.masked(no); })); };
  EXPECT_EQ(masked(session.no), MaskCounts{});
  add(session.no, {{"jwt", 2}, {"secret_key", 1}});
  add(session.no, {{"jwt", 3}});
  add(session.no, {});
  add(other.no, {{"bearer", 7}});
  EXPECT_EQ(masked(session.no), (MaskCounts{{"jwt", 5}, {"secret_key", 1}}));
  EXPECT_EQ(masked(other.no), (MaskCounts{{"bearer", 7}}));
}

TEST_P(LogConformance, PurgedBlobsAreListedInOrderAndOnce) {
  const Digest high = must(Digest::parse(std::string(64, 'f'))), low = must(Digest::parse(std::string(64, '1'))), middle = sha256("middle");
  for (const Digest& digest : {high, middle, low, high}) must(write_to(log(), [&](LogTxn& txn) { return txn.mark_purged(digest); }));
  EXPECT_EQ(must(read_from(log(), [](LogReader& r) { return r.purged_blobs(); })), (std::vector<Digest>{low, middle, high}));
}

TEST_P(LogConformance, PurgedSessionsAreListedByNumberAndOnce) {
  const PurgedSession first{SessionNo{3}, sha256("a"), 7, sha256("last"), TimeMs{5}};
  const PurgedSession empty{SessionNo{9}, sha256("b"), 0, Digest(), TimeMs{6}};
  for (const PurgedSession& row : {empty, first, empty}) must(write_to(log(), [&](LogTxn& txn) { return txn.mark_purged(row); }));
  EXPECT_EQ(must(read_from(log(), [](LogReader& r) { return r.purged_sessions(); })), (std::vector<PurgedSession>{first, empty}));
}

TEST_P(LogConformance, CheckpointsAreKeptPerFoldAndSessionAndReplaced) {
  const SessionRow session = make_session("s"), other = make_session("t");
  const auto save = [&](SessionNo no, std::string_view fold, Seq seq, std::string state) {
    must(write_to(log(), [&](LogTxn& txn) { return txn.save_checkpoint(no, fold, {seq, state}); }));
  };
  const auto state = [&](SessionNo no, std::string_view fold, Seq seq) {
    const auto row = must(read_from(log(), [&](LogReader& r) { return r.checkpoint(no, fold, seq); }));
    return row ? row->state : "(none)";
  };
  const auto seqs = [&](SessionNo no, std::string_view fold) {
    return must(read_from(log(), [&](LogReader& r) { return r.checkpoints(no, fold); }));
  };
  save(session.no, "stats", 30, "thirty");
  save(session.no, "stats", 4, std::string("a\0b", 3));
  save(session.no, "run", 5, "");
  save(other.no, "stats", 6, "six");
  save(session.no, "stats", 30, "thirty again");
  EXPECT_EQ(state(session.no, "stats", 30), "thirty again");
  EXPECT_EQ(state(session.no, "stats", 4), std::string("a\0b", 3));
  EXPECT_EQ(state(session.no, "run", 5), "");
  for (const Seq seq : {5, 6, 29}) EXPECT_EQ(state(session.no, "stats", seq), "(none)");
  EXPECT_EQ(seqs(session.no, "stats"), (std::vector<Seq>{4, 30}));
  EXPECT_EQ(seqs(session.no, "run"), (std::vector<Seq>{5}));
  EXPECT_EQ(seqs(session.no, "stat"), std::vector<Seq>{});
  EXPECT_EQ(seqs(other.no, "stats"), (std::vector<Seq>{6}));
}

}  // namespace weir::testing
