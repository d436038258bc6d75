// LogTxn over one SQLite connection: every statement the log knows, prepared once, parameters always bound.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>

#include "store/log.h"
#include "store/sqlite.h"

namespace weir {

class SqliteRows final : public LogTxn {
 public:
  explicit SqliteRows(sqlite::Connection& connection) : connection_(connection) {}

  // Has anything been written since the last call?
  bool take_wrote() { return std::exchange(wrote_, false); }

  // For the one connection that writes: what it wrote last is remembered from one transaction to the next, so that a
  // run of appends does not ask again for what it just stored. Called at the begin of a transaction, this forgets all
  // of it if anybody else has written since, and answers whether that is so.
  Result<bool> remember_tails();
  // After a rollback: what is remembered may not be there.
  void forget_tails();

  Result<std::vector<SessionRow>> sessions(std::vector<Error>* damaged) override;
  Result<std::optional<SessionRow>> session(const SessionId& id) override;
  Result<Seq> last_seq(SessionNo session) override;
  Result<std::vector<HeadRow>> heads(SessionNo session) override;
  Result<std::optional<Seq>> head(SessionNo session, const HeadName& name) override;
  Result<std::optional<Entry>> entry(SessionNo session, Seq seq, Columns columns) override;
  Result<std::optional<Entry>> find(SessionNo session, const EntryId& id, Columns columns) override;
  Result<std::vector<Seq>> with_digest(SessionNo session, std::uint64_t prefix64) override;
  Result<std::vector<Seq>> with_id_prefix(SessionNo session, std::string_view prefix, std::size_t most) override;
  Result<void> scan(SessionNo session, Seq first, Seq last, Order order, Columns columns, FunctionRef<Result<bool>(Entry&)> visit) override;
  Result<void> scan_unproven(SessionNo session, Seq first, Seq last, Order order, Columns columns,
                             FunctionRef<Result<bool>(Entry&)> visit) override;
  Result<std::optional<CheckpointRow>> checkpoint(SessionNo session, std::string_view fold, Seq seq) override;
  Result<std::vector<Seq>> checkpoints(SessionNo session, std::string_view fold) override;
  Result<std::vector<UndeliveredRow>> all_undelivered(std::vector<Error>* damaged) override;
  Result<MaskCounts> masked(SessionNo session) override;
  Result<std::vector<Digest>> purged_blobs() override;
  Result<std::vector<PurgedSession>> purged_sessions() override;

  Result<SessionRow> create_session(const SessionId& id, TimeMs created) override;
  Result<void> set_source(SessionNo session, const std::string& source) override;
  Result<void> delete_session(SessionNo session) override;
  Result<void> insert(SessionNo session, const Entry& entry) override;
  Result<void> set_head(SessionNo session, const HeadName& name, Seq seq) override;
  Result<void> delete_head(SessionNo session, const HeadName& name) override;
  Result<void> save_checkpoint(SessionNo session, std::string_view fold, const CheckpointRow& row) override;
  Result<void> drop_checkpoint(SessionNo session, std::string_view fold, Seq seq) override;
  Result<void> drop_checkpoints(SessionNo session, std::string_view fold) override;
  Result<void> add_undelivered(SessionNo session, std::uint64_t path, Seq seq) override;
  Result<void> drop_undelivered(SessionNo session, std::uint64_t path, Seq seq) override;
  Result<void> add_masked(SessionNo session, const MaskCounts& counts) override;
  Result<void> mark_purged(const Digest& blob) override;
  Result<void> unmark_purged(const Digest& blob) override;
  Result<void> mark_purged(const PurgedSession& session) override;
  Result<void> sync_committed() override { return connection_.sync_wal(); }
  Result<std::uint64_t> bytes() override;

 private:
  // The end of a session as this connection last wrote or read it.
  struct Tail {
    SessionRow session;
    std::optional<Seq> last_seq;
    std::map<HeadName, Seq> heads;
    std::optional<Entry> last;  // without its body
  };
  Tail* tail(SessionNo session);

  enum Sql {
    kDataVersion,
    kSessions,
    kSession,
    kSessionByNo,
    kLastSeq,
    kHeads,
    kHead,
    kEntry,
    kEntryNoBody,
    kFind,
    kFindNoBody,
    kDigest,
    kWithDigest,
    kWithIdPrefix,
    kIdBelow,
    kIdAbove,
    kPointerBelow,
    kPointerAbove,
    kScan,
    kScanBack,
    kScanNoBody,
    kScanBackNoBody,
    kCheckpoint,
    kCheckpoints,
    kUndelivered,
    kMasked,
    kPurgedBlobs,
    kPurgedSessions,
    kCreateSession,
    kSealSession,
    kInsert,
    kSetHead,
    kDeleteHead,
    kSaveCheckpoint,
    kDropCheckpoint,
    kDropCheckpoints,
    kSetUndelivered,
    kDropUndelivered,
    kAddMasked,
    kMarkPurged,
    kUnmarkPurged,
    kMarkPurgedSession,
    kDeleteEntries,
    kDeleteHeads,
    kDeleteCheckpoints,
    kDeleteUndelivered,
    kDeleteMasked,
    kDeleteSession,
    kCount
  };
  static const char* const kSql[kCount];

  Result<sqlite::Statement*> prepared(Sql sql);
  struct Row {
    Entry entry;
    bool typed = false;  // the seal covers the type
  };
  Result<void> take_row(sqlite::Statement& row, SessionNo session, Columns columns, Row& out);
  Result<void> change_undelivered(SessionNo session, std::uint64_t path, Seq seq, int by);
  Result<SessionRow> session_from(sqlite::Statement& row);
  struct Link {
    Seq seq = 0;
    Digest digest;
  };
  // What the seal leaves open: that body and type are those of the digest. `near`, if given, may be the parent.
  Result<void> prove(SessionNo session, const Row& row, Columns columns, const Link* near);
  Result<Digest> digest_at(SessionNo session, Seq seq);
  Result<void> scan_rows(SessionNo session, Seq first, Seq last, Order order, Columns columns, FunctionRef<Result<bool>(Row&)> visit);
  // An index has no seal, and believes a damaged item to be another one: what it does not find is there all the same. So where
  // nothing is between two items of it, both are held against their rows: the damaged item would be one of them.
  struct IdPlace {
    SessionNo session;
    std::string id;
    auto operator<=>(const IdPlace&) const = default;
  };
  Result<std::optional<IdPlace>> proven_neighbour(Sql sql, SessionNo session, std::string_view id);
  Result<void> prove_item(sqlite::Statement& item, std::string_view index);
  Result<void> prove_absent(SessionNo session, std::string_view id);
  Result<void> prove_no_more_pointers(SessionNo session, std::uint64_t prefix64);
  Result<std::optional<Entry>> one_entry(sqlite::Statement& statement, SessionNo session, Columns columns);
  // Rows of these tables are asked for by name, and a row that is not found has no seal to fail. So before a list is given or
  // "there is none" is said, the table and its indexes are held against each other, once for each connection.
  enum Table { kSessionTable, kHeadTable, kMaskedTable, kPurgedTable, kTables };
  Result<void> prove_whole(Table table);
  Result<std::vector<HeadRow>> indexed_heads(SessionNo session);
  // CORRUPT with the session's name and the place in it.
  Error damaged(SessionNo session, std::string_view what, std::string_view place);
  Error damaged_entry(SessionNo session, const Entry& entry, std::string message);
  Error missing_entry(SessionNo session, Seq seq);
  Error damaged_index(std::string_view index, std::uint64_t key);

  sqlite::Connection& connection_;
  std::array<sqlite::Statement, kCount> statements_;
  std::array<bool, kCount> ready_{};
  std::array<std::vector<sqlite::Statement>, 4> idle_scans_;  // of kScan and the three after it
  std::array<bool, kTables> whole_{};
  bool wrote_ = false;
  bool remembering_ = false;
  std::int64_t data_version_ = 0;
  std::map<std::uint64_t, Tail> tails_;
  // Between these two, if they are any, nothing was found and both were proven; since then only this connection has written.
  struct Gap {
    std::optional<IdPlace> low, high;
  };
  std::optional<Gap> gap_;
  int proofs_ = 0;  // in this transaction
};

}  // namespace weir
