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
  // of it if anybody else has written since.
  Result<void> remember_tails();
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
  Result<std::optional<CheckpointRow>> checkpoint(SessionNo session, std::string_view fold, Seq seq) override;
  Result<std::vector<Seq>> checkpoints(SessionNo session, std::string_view fold) override;
  Result<MaskCounts> masked(SessionNo session) override;
  Result<std::vector<Digest>> purged_blobs() override;

  Result<SessionRow> create_session(const SessionId& id, TimeMs created) override;
  Result<void> set_source(SessionNo session, const std::string& source) override;
  Result<void> delete_session(SessionNo session) override;
  Result<void> insert(SessionNo session, const Entry& entry) override;
  Result<void> set_head(SessionNo session, const HeadName& name, Seq seq) override;
  Result<void> delete_head(SessionNo session, const HeadName& name) override;
  Result<void> save_checkpoint(SessionNo session, std::string_view fold, const CheckpointRow& row) override;
  Result<void> drop_checkpoints(SessionNo session, std::string_view fold) override;
  Result<void> add_masked(SessionNo session, const MaskCounts& counts) override;
  Result<void> mark_purged(const Digest& blob) override;
  Result<void> unmark_purged(const Digest& blob) override;
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
    kWithDigest,
    kWithIdPrefix,
    kScan,
    kScanBack,
    kScanNoBody,
    kScanBackNoBody,
    kCheckpoint,
    kCheckpoints,
    kMasked,
    kPurgedBlobs,
    kCreateSession,
    kSealSession,
    kInsert,
    kSetHead,
    kDeleteHead,
    kSaveCheckpoint,
    kDropCheckpoints,
    kAddMasked,
    kMarkPurged,
    kUnmarkPurged,
    kDeleteEntries,
    kDeleteHeads,
    kDeleteCheckpoints,
    kDeleteMasked,
    kDeleteSession,
    kCount
  };
  static const char* const kSql[kCount];

  Result<sqlite::Statement*> prepared(Sql sql);
  Result<Entry> entry_from(sqlite::Statement& row, SessionNo session, Columns columns);
  Result<SessionRow> session_from(sqlite::Statement& row);
  Result<void> scan_rows(sqlite::Statement& statement, SessionNo session, Columns columns, FunctionRef<Result<bool>(Entry&)> visit);
  Result<std::optional<Entry>> one_entry(sqlite::Statement& statement, SessionNo session, Columns columns);

  sqlite::Connection& connection_;
  std::array<sqlite::Statement, kCount> statements_;
  std::array<bool, kCount> ready_{};
  std::array<std::vector<sqlite::Statement>, 4> idle_scans_;  // of kScan and the three after it
  bool wrote_ = false;
  bool remembering_ = false;
  std::int64_t data_version_ = 0;
  std::map<std::uint64_t, Tail> tails_;
};

}  // namespace weir
