#include "store/sqlite_rows.h"

#include <algorithm>

#include "base/limits.h"
#include "store/seal.h"
#include "store/sqlite_keys.h"

namespace weir {
namespace {

constexpr std::size_t kMostTails = 64;

std::int64_t checkpoint_seal(SessionNo session, std::string_view fold, Seq seq, std::string_view state) {
  return Seal("checkpoint").number(session.value).text(fold).number(seq).text(state).value();
}
std::int64_t masked_seal(SessionNo session, std::string_view family, std::uint64_t count) {
  return Seal("masked").number(session.value).text(family).number(count).value();
}
std::int64_t purged_seal(std::string_view digest) { return Seal("purged_blob").text(digest).value(); }
std::int64_t purged_seal(const PurgedSession& row) {
  return Seal("purged_session")
      .number(row.no.value)
      .text(row.name.bytes())
      .number(row.entries)
      .text(row.last.bytes())
      .number(static_cast<std::uint64_t>(row.at.ms))
      .value();
}

}  // namespace

#define WEIR_ENTRY_COLUMNS "key, parent, barrier, depth, at, imported, seal, digest, id, type, session, pointer"
// The first item of an index in an order, and whether its row says the same.
#define WEIR_NEIGHBOUR(column, where_and_order)                                                                                       \
  "SELECT n.key, n.session, n." column ", e.session IS n.session AND e." column " IS n." column " FROM (SELECT key, session, " column \
  " FROM entry WHERE " where_and_order " LIMIT 1) n LEFT JOIN entry e ON e.key = n.key"

// clang-format off: a statement a line, however long
const char* const SqliteRows::kSql[kCount] = {
    "PRAGMA data_version",
    "SELECT no, id, created, source, seal FROM session ORDER BY id",
    "SELECT no, id, created, source, seal FROM session WHERE id = ?1",
    "SELECT no, id, created, source, seal FROM session WHERE no = ?1",
    "SELECT " WEIR_ENTRY_COLUMNS " FROM entry WHERE key BETWEEN ?1 AND ?2 ORDER BY key DESC LIMIT 1",
    "SELECT name, seq, seal FROM head WHERE session = ?1 ORDER BY name",
    "SELECT name, seq, seal FROM head WHERE session = ?1 AND name = ?2",
    "SELECT " WEIR_ENTRY_COLUMNS ", body FROM entry WHERE key = ?1",
    "SELECT " WEIR_ENTRY_COLUMNS " FROM entry WHERE key = ?1",
    "SELECT " WEIR_ENTRY_COLUMNS ", body FROM entry WHERE session = ?1 AND id = ?2",
    "SELECT " WEIR_ENTRY_COLUMNS " FROM entry WHERE session = ?1 AND id = ?2",
    "SELECT digest FROM entry WHERE key = ?1",
    "SELECT key FROM entry WHERE session = ?1 AND pointer = ?2 ORDER BY key",
    "SELECT key, id FROM entry WHERE session = ?1 AND id >= ?2 ORDER BY id LIMIT ?3",
    WEIR_NEIGHBOUR("id", "(session, id) < (?1, ?2) ORDER BY session DESC, id DESC"),
    WEIR_NEIGHBOUR("id", "(session, id) > (?1, ?2) ORDER BY session, id"),
    WEIR_NEIGHBOUR("pointer", "pointer IS NOT NULL AND (session, pointer) < (?1, ?2) ORDER BY session DESC, pointer DESC"),
    WEIR_NEIGHBOUR("pointer", "pointer IS NOT NULL AND (session, pointer) > (?1, ?2) ORDER BY session, pointer"),
    "SELECT " WEIR_ENTRY_COLUMNS ", body FROM entry WHERE key BETWEEN ?1 AND ?2 ORDER BY key",
    "SELECT " WEIR_ENTRY_COLUMNS ", body FROM entry WHERE key BETWEEN ?1 AND ?2 ORDER BY key DESC",
    "SELECT " WEIR_ENTRY_COLUMNS " FROM entry WHERE key BETWEEN ?1 AND ?2 ORDER BY key",
    "SELECT " WEIR_ENTRY_COLUMNS " FROM entry WHERE key BETWEEN ?1 AND ?2 ORDER BY key DESC",
    "SELECT state, seal FROM checkpoint WHERE session = ?1 AND fold = ?2 AND seq = ?3",
    "SELECT seq FROM checkpoint WHERE session = ?1 AND fold = ?2 ORDER BY seq",
    "SELECT session, path, seq, times, seal FROM undelivered",
    "SELECT family, count, seal FROM masked WHERE session = ?1 ORDER BY family",
    "SELECT digest, seal FROM purged_blob ORDER BY digest",
    "SELECT no, name, entries, last, at, seal FROM purged_session ORDER BY no",
    "INSERT INTO session(id, created, source, seal) VALUES(?1, ?2, '', 0) RETURNING no",
    "UPDATE session SET source = ?2, seal = ?3 WHERE no = ?1",
    "INSERT INTO entry(key, session, parent, barrier, depth, at, seal, digest, id, type, pointer, body, imported) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    "INSERT INTO head(session, name, seq, seal) VALUES(?1, ?2, ?3, ?4) ON CONFLICT(session, name) DO UPDATE SET seq = ?3, seal = ?4",
    "DELETE FROM head WHERE session = ?1 AND name = ?2",
    "INSERT OR REPLACE INTO checkpoint(session, fold, seq, state, seal) VALUES(?1, ?2, ?3, ?4, ?5)",
    "DELETE FROM checkpoint WHERE session = ?1 AND fold = ?2 AND seq = ?3",
    "DELETE FROM checkpoint WHERE session = ?1 AND fold = ?2",
    "INSERT OR REPLACE INTO undelivered(session, path, seq, times, seal) VALUES(?1, ?2, ?3, ?4, ?5)",
    "DELETE FROM undelivered WHERE session = ?1 AND path = ?2 AND seq = ?3",
    "INSERT OR REPLACE INTO masked(session, family, count, seal) VALUES(?1, ?2, ?3, ?4)",
    "INSERT OR REPLACE INTO purged_blob(digest, seal) VALUES(?1, ?2)",
    "DELETE FROM purged_blob WHERE digest = ?1",
    "INSERT OR REPLACE INTO purged_session(no, name, entries, last, at, seal) VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
    "DELETE FROM entry WHERE key BETWEEN ?1 AND ?2",
    "DELETE FROM head WHERE session = ?1",
    "DELETE FROM checkpoint WHERE session = ?1",
    "DELETE FROM undelivered WHERE session = ?1",
    "DELETE FROM masked WHERE session = ?1",
    "DELETE FROM session WHERE no = ?1",
};
// clang-format on

Result<sqlite::Statement*> SqliteRows::prepared(Sql sql) {
  if (!ready_[sql]) {
    TRY(statements_[sql], connection_.prepare(kSql[sql]));
    ready_[sql] = true;
  }
  return &statements_[sql];
}

Result<bool> SqliteRows::remember_tails() {
  // Not only the first time: after a VACUUM the pragma is compiled again.
  const sqlite::Connection::Maintenance allowed(connection_);
  TRY(sqlite::Statement* const statement, prepared(kDataVersion));
  remembering_ = true;
  proofs_ = 0;
  sqlite::Use use(*statement);
  TRY_DO(use->step());
  const bool others = std::exchange(data_version_, use->integer(0)) != use->integer(0);
  if (others || tails_.size() > kMostTails) forget_tails();
  return others;
}

void SqliteRows::forget_tails() {
  tails_.clear();
  gap_.reset();
}

SqliteRows::Tail* SqliteRows::tail(SessionNo session) {
  if (!remembering_) return nullptr;
  const auto it = tails_.find(session.value);
  return it == tails_.end() ? nullptr : &it->second;
}

Result<SessionRow> SqliteRows::session_from(sqlite::Statement& row) {
  SessionRow out{SessionNo{row.natural(0)}, SessionId::trusted(row.text(1)), TimeMs{row.integer(2)}, std::string(row.text(3))};
  if (row.integer(4) != seal_of(out)) return damaged_row("session", out.id.str()).with("session", out.id.str());
  return out;
}

Error SqliteRows::damaged(SessionNo session, std::string_view what, std::string_view place) {
  Error error = damaged_row(what, place);
  auto statement = prepared(kSessionByNo);
  if (!statement.ok()) return error;
  sqlite::Use use(**statement);
  const auto found = use->bind(1, session.value).step();
  // Without its row the session has no name to give.
  return found.ok() && *found ? std::move(error).with("session", std::string(use->text(1))) : error;
}

Error SqliteRows::damaged_entry(SessionNo session, const Entry& entry, std::string message) {
  const Error place = damaged(session, "entry", "seq " + std::to_string(entry.seq));
  Error error(ErrorCode::CORRUPT, message.empty() ? place.message() : std::move(message));
  for (const auto& [name, value] : place.details()) error = std::move(error).with(name, value);
  return std::move(error).with("seq", static_cast<std::int64_t>(entry.seq)).with("entry", entry.id.str());
}

Error SqliteRows::missing_entry(SessionNo session, Seq seq) {
  Entry missing;
  missing.seq = seq;
  return damaged_entry(session, missing, "the entry at seq " + std::to_string(seq) + " is missing");
}

Result<void> SqliteRows::take_row(sqlite::Statement& row, SessionNo session, Columns columns, Row& out) {
  Entry& entry = out.entry;
  entry.seq = seq_of(row.natural(0));
  entry.parent = row.natural(1);
  entry.barrier = row.natural(2);
  entry.depth = row.natural(3);
  entry.at = TimeMs{row.integer(4)};
  entry.imported = row.integer(5) != 0;
  const auto digest = Digest::from_bytes(row.text(7));
  entry.id = EntryId::trusted(row.text(8));
  entry.type = row.text(9);
  if (digest.ok()) entry.digest = *digest;
  // What the indexes are made of is not sealed; it follows from the rest.
  const auto indexed = [&] {
    if (row.natural(10) != session.value || !row.is_text(8)) return false;
    return row.is_null(11) ? derived_id(entry.id.str(), entry.digest) : row.natural(11) == entry.digest.prefix64();
  };
  out.typed = row.integer(6) == typed_seal_of(session, entry);
  if (!digest.ok() || !(out.typed || row.integer(6) == seal_of(session, entry)) || !indexed()) return damaged_entry(session, entry, "");
  entry.body = columns == Columns::all ? row.text(12) : std::string_view();
  return {};
}

Result<Digest> SqliteRows::digest_at(SessionNo session, Seq seq) {
  TRY(sqlite::Statement* const statement, prepared(kEntryNoBody));
  sqlite::Use use(*statement);
  use->bind(1, key_of(session, seq));
  TRY(const bool there, use->step());
  if (!there) return missing_entry(session, seq);
  Row row;
  TRY_DO(take_row(*statement, session, Columns::without_body, row));
  return row.entry.digest;
}

Result<void> SqliteRows::prove(SessionNo session, const Row& row, Columns columns, const Link* near) {
  const Entry& entry = row.entry;
  if (columns == Columns::without_body) {
    if (row.typed) return {};
    // Sealed without its type: only the body can tell.
    TRY(const auto whole, this->entry(session, entry.seq, Columns::all));
    return whole && whole->type == entry.type ? Result<void>() : damaged_entry(session, entry, "");
  }
  std::optional<Digest> parent;
  if (near != nullptr && near->seq == entry.parent) {
    parent = near->digest;
  } else if (entry.parent != 0) {
    TRY(sqlite::Statement* const statement, prepared(kDigest));
    sqlite::Use use(*statement);
    TRY(const bool there, use->bind(1, key_of(session, entry.parent)).step());
    if (!there) return missing_entry(session, entry.parent);
    if (const auto digest = Digest::from_bytes(use->text(0)); digest.ok()) parent = *digest;
  }
  if (entry_digest(parent, entry.type, entry.body) == entry.digest) return {};
  // Its parent's row may be the damaged one.
  if (entry.parent != 0) TRY_DO(digest_at(session, entry.parent));
  return damaged_entry(session, entry, "entry '" + entry.id.str() + "' does not match its digest");
}

Result<std::optional<Entry>> SqliteRows::one_entry(sqlite::Statement& statement, SessionNo session, Columns columns) {
  TRY(const bool row, statement.step());
  if (!row) return std::optional<Entry>();
  Row found;
  TRY_DO(take_row(statement, session, columns, found));
  TRY_DO(prove(session, found, columns, nullptr));
  return std::optional<Entry>(std::move(found.entry));
}

Result<void> SqliteRows::prove_whole(Table table) {
  static constexpr const char* kNames[kTables] = {"session", "head", "masked", "purged_blob"};
  if (whole_[table]) return {};
  const sqlite::Connection::Maintenance maintenance(connection_);
  TRY(sqlite::Statement check, connection_.prepare("PRAGMA integrity_check(" + std::string(kNames[table]) + ")"));
  TRY_DO(check.step());
  if (check.text(0) != "ok")
    return Error(ErrorCode::CORRUPT, "table " + std::string(kNames[table]) + " is damaged: " + std::string(check.text(0)))
        .with("object", "table " + std::string(kNames[table]));
  whole_[table] = true;
  return {};
}

Result<std::vector<SessionRow>> SqliteRows::sessions(std::vector<Error>* damaged) {
  // Whoever wants to hear of damaged rows looks at the structure himself.
  if (damaged == nullptr) TRY_DO(prove_whole(kSessionTable));
  TRY(sqlite::Statement* const statement, prepared(kSessions));
  sqlite::Use use(*statement);
  std::vector<SessionRow> out;
  for (;;) {
    TRY(const bool row, use->step());
    if (!row) return out;
    auto session_row = session_from(*statement);
    if (session_row.ok()) {
      out.push_back(std::move(session_row).value());
    } else if (damaged != nullptr) {
      damaged->push_back(std::move(session_row).error());
    } else {
      return std::move(session_row).error();
    }
  }
}

Result<std::optional<SessionRow>> SqliteRows::session(const SessionId& id) {
  for (const auto& [no, known] : tails_) {
    if (known.session.id == id) return std::optional(known.session);
  }
  TRY(sqlite::Statement* const statement, prepared(kSession));
  sqlite::Use use(*statement);
  use->bind(1, std::string_view(id.str()));
  TRY(const bool row, use->step());
  if (!row) {
    TRY_DO(prove_whole(kSessionTable));
    return std::optional<SessionRow>();
  }
  TRY(SessionRow out, session_from(*statement));
  if (remembering_) tails_[out.no.value].session = out;
  return std::optional<SessionRow>(std::move(out));
}

Result<Seq> SqliteRows::last_seq(SessionNo session) {
  Tail* const known = tail(session);
  if (known != nullptr && known->last_seq) return *known->last_seq;
  TRY(sqlite::Statement* const statement, prepared(kLastSeq));
  sqlite::Use use(*statement);
  use->bind(1, key_of(session, 0)).bind(2, key_of(session, limits::kSeq));
  // The whole row, so that a damaged key is not taken for a seq.
  TRY(const auto row, one_entry(*statement, session, Columns::without_body));
  const Seq last = row ? row->seq : 0;
  // A page that hides the last rows hides them from this question too; a head that stands behind them tells.
  TRY(const auto heads, indexed_heads(session));
  for (const HeadRow& head : heads) {
    if (head.seq > last) return missing_entry(session, head.seq);
  }
  if (known != nullptr) known->last_seq = last;
  return last;
}

Result<std::vector<HeadRow>> SqliteRows::heads(SessionNo session) {
  TRY_DO(prove_whole(kHeadTable));
  return indexed_heads(session);
}

Result<std::vector<HeadRow>> SqliteRows::indexed_heads(SessionNo session) {
  TRY(sqlite::Statement* const statement, prepared(kHeads));
  sqlite::Use use(*statement);
  use->bind(1, session.value);
  std::vector<HeadRow> out;
  for (;;) {
    TRY(const bool row, use->step());
    if (!row) return out;
    out.push_back({HeadName::trusted(use->text(0)), use->natural(1)});
    if (!use->is_text(0) || use->integer(2) != seal_of(session, out.back())) return damaged(session, "head", out.back().name.str());
  }
}

Result<std::optional<Seq>> SqliteRows::head(SessionNo session, const HeadName& name) {
  Tail* const known = tail(session);
  if (known != nullptr) {
    if (const auto it = known->heads.find(name); it != known->heads.end()) return std::optional(it->second);
  }
  TRY(sqlite::Statement* const statement, prepared(kHead));
  sqlite::Use use(*statement);
  use->bind(1, session.value).bind(2, std::string_view(name.str()));
  TRY(const bool row, use->step());
  if (!row) {
    TRY_DO(prove_whole(kHeadTable));
    return std::optional<Seq>();
  }
  const HeadRow found{name, use->natural(1)};
  if (use->integer(2) != seal_of(session, found)) return damaged(session, "head", name.str());
  return std::optional<Seq>(found.seq);
}

Result<std::optional<Entry>> SqliteRows::entry(SessionNo session, Seq seq, Columns columns) {
  if (const Tail* known = tail(session); known != nullptr && columns == Columns::without_body && known->last && known->last->seq == seq)
    return known->last;
  if (seq > limits::kSeq) return std::optional<Entry>();
  TRY(sqlite::Statement* const statement, prepared(columns == Columns::all ? kEntry : kEntryNoBody));
  sqlite::Use use(*statement);
  use->bind(1, key_of(session, seq));
  return one_entry(*statement, session, columns);
}

Result<void> SqliteRows::scan(SessionNo session, Seq first, Seq last, Order order, Columns columns,
                              FunctionRef<Result<bool>(Entry&)> visit) {
  first = std::max<Seq>(first, 1);
  const bool forward = order == Order::forward;
  Link before{forward ? first - 1 : 0, {}};  // the row visited last
  bool go_on = true;
  const auto next_to = [&](Seq seq) -> Result<void> {
    const bool next = forward ? seq == before.seq + 1 : before.seq == 0 || seq == before.seq - 1;
    return next ? Result<void>() : missing_entry(session, forward ? before.seq + 1 : before.seq - 1);
  };
  const auto show = [&](Row& row, const Link* near) -> Result<bool> {
    TRY_DO(next_to(row.entry.seq));
    TRY_DO(prove(session, row, columns, near));
    before = {row.entry.seq, row.entry.digest};
    TRY(go_on, visit(row.entry));
    return go_on;
  };
  if (forward || columns == Columns::without_body) {
    TRY_DO(scan_rows(session, first, last, order, columns, [&](Row& row) { return show(row, before.seq < first ? nullptr : &before); }));
  } else {
    // A row is shown when the next one back, mostly its parent, is at hand.
    std::optional<Row> held;
    TRY_DO(scan_rows(session, first, last, order, columns, [&](Row& row) -> Result<bool> {
      const Link near{row.entry.seq, row.entry.digest};
      if (held) TRY_DO(show(*held, &near));
      held = std::move(row);
      return go_on;
    }));
    if (go_on && held) TRY_DO(show(*held, nullptr));
  }
  if (go_on && !forward && before.seq > first) return missing_entry(session, before.seq - 1);
  if (go_on && forward && before.seq < last) {
    TRY(const Seq end, last_seq(session));
    if (before.seq < end) return missing_entry(session, before.seq + 1);
  }
  return {};
}

Result<void> SqliteRows::scan_unproven(SessionNo session, Seq first, Seq last, Order order, Columns columns,
                                       FunctionRef<Result<bool>(Entry&)> visit) {
  return scan_rows(session, first, last, order, columns, [&](Row& row) { return visit(row.entry); });
}

Result<void> SqliteRows::scan_rows(SessionNo session, Seq first, Seq last, Order order, Columns columns,
                                   FunctionRef<Result<bool>(Row&)> visit) {
  const Sql sql =
      columns == Columns::all ? (order == Order::forward ? kScan : kScanBack) : (order == Order::forward ? kScanNoBody : kScanBackNoBody);
  // One that is not in use: `visit` may read and even scan.
  auto& idle = idle_scans_[sql - kScan];
  sqlite::Statement statement;
  if (idle.empty()) {
    TRY(statement, connection_.prepare(kSql[sql]));
  } else {
    statement = std::move(idle.back());
    idle.pop_back();
  }
  statement.bind(1, key_of(session, first)).bind(2, key_of(session, std::min<Seq>(last, limits::kSeq)));
  const auto each = [&]() -> Result<void> {
    Row row;  // one for all, so that their texts share its memory
    for (;;) {
      TRY(const bool there, statement.step());
      if (!there) return {};
      TRY_DO(take_row(statement, session, columns, row));
      TRY(const bool go_on, visit(row));
      if (!go_on) return {};
    }
  };
  Result<void> scanned = each();
  statement.reset();
  idle.push_back(std::move(statement));
  return scanned;
}

Result<std::optional<CheckpointRow>> SqliteRows::checkpoint(SessionNo session, std::string_view fold, Seq seq) {
  TRY(sqlite::Statement* const statement, prepared(kCheckpoint));
  sqlite::Use use(*statement);
  use->bind(1, session.value).bind(2, fold).bind(3, seq);
  TRY(const bool row, use->step());
  if (!row) return std::optional<CheckpointRow>();
  CheckpointRow out{seq, std::string(use->text(0))};
  // A damaged cache is no damage: it is computed again.
  if (use->integer(1) != checkpoint_seal(session, fold, seq, out.state)) return std::optional<CheckpointRow>();
  return std::optional<CheckpointRow>(std::move(out));
}

Result<std::vector<Seq>> SqliteRows::checkpoints(SessionNo session, std::string_view fold) {
  TRY(sqlite::Statement* const statement, prepared(kCheckpoints));
  sqlite::Use use(*statement);
  use->bind(1, session.value).bind(2, fold);
  std::vector<Seq> out;
  for (;;) {
    TRY(const bool row, use->step());
    if (!row) return out;
    out.push_back(use->natural(0));
  }
}

Result<MaskCounts> SqliteRows::masked(SessionNo session) {
  TRY_DO(prove_whole(kMaskedTable));
  TRY(sqlite::Statement* const statement, prepared(kMasked));
  sqlite::Use use(*statement);
  use->bind(1, session.value);
  MaskCounts out;
  for (;;) {
    TRY(const bool row, use->step());
    if (!row) return out;
    const std::string family(use->text(0));
    out[family] = use->natural(1);
    if (use->integer(2) != masked_seal(session, family, out[family])) return damaged(session, "masked", family);
  }
}

Result<std::vector<Digest>> SqliteRows::purged_blobs() {
  TRY_DO(prove_whole(kPurgedTable));
  TRY(sqlite::Statement* const statement, prepared(kPurgedBlobs));
  sqlite::Use use(*statement);
  std::vector<Digest> out;
  for (;;) {
    TRY(const bool row, use->step());
    if (!row) return out;
    const auto digest = Digest::from_bytes(use->text(0));
    if (!digest.ok() || use->integer(1) != purged_seal(use->text(0))) return damaged_row("purged_blob", "?");
    out.push_back(*digest);
  }
}

Result<std::vector<PurgedSession>> SqliteRows::purged_sessions() {
  TRY(sqlite::Statement* const statement, prepared(kPurgedSessions));
  sqlite::Use use(*statement);
  std::vector<PurgedSession> out;
  for (;;) {
    TRY(const bool row, use->step());
    if (!row) return out;
    const auto name = Digest::from_bytes(use->text(1)), last = Digest::from_bytes(use->text(3));
    PurgedSession found{SessionNo{use->natural(0)}, Digest(), use->natural(2), Digest(), TimeMs{use->integer(4)}};
    if (name.ok()) found.name = *name;
    if (last.ok()) found.last = *last;
    if (!name.ok() || !last.ok() || use->integer(5) != purged_seal(found))
      return damaged_row("purged_session", std::to_string(found.no.value));
    out.push_back(found);
  }
}

Result<SessionRow> SqliteRows::create_session(const SessionId& id, TimeMs created) {
  wrote_ = true;
  SessionRow row{SessionNo{}, id, created, ""};
  {
    TRY(sqlite::Statement* const statement, prepared(kCreateSession));
    sqlite::Use use(*statement);
    use->bind(1, std::string_view(id.str())).bind(2, created.ms);
    TRY_DO(use->step());
    row.no = SessionNo{use->natural(0)};
  }
  if (row.no.value > limits::kSessions) return over_limit("sessions of a store", limits::kSessions, row.no.value);
  TRY(sqlite::Statement* const statement, prepared(kSealSession));
  sqlite::Use use(*statement);
  TRY_DO(use->bind(1, row.no.value).bind(2, std::string_view(row.source)).bind(3, seal_of(row)).run());
  return row;
}

Result<void> SqliteRows::set_source(SessionNo session, const std::string& source) {
  wrote_ = true;
  tails_.erase(session.value);
  SessionRow row;
  {
    TRY(sqlite::Statement* const statement, prepared(kSessionByNo));
    sqlite::Use use(*statement);
    use->bind(1, session.value);
    TRY(const bool found, use->step());
    if (!found) return Error(ErrorCode::NOT_FOUND, "the session is gone");
    TRY(row, session_from(*statement));
  }
  row.source = source;
  TRY(sqlite::Statement* const statement, prepared(kSealSession));
  sqlite::Use use(*statement);
  return use->bind(1, session.value).bind(2, std::string_view(source)).bind(3, seal_of(row)).run();
}

Result<void> SqliteRows::delete_session(SessionNo session) {
  wrote_ = true;
  tails_.erase(session.value);
  {
    TRY(sqlite::Statement* const statement, prepared(kDeleteEntries));
    sqlite::Use use(*statement);
    TRY_DO(use->bind(1, key_of(session, 0)).bind(2, key_of(session, limits::kSeq)).run());
  }
  for (const Sql sql : {kDeleteHeads, kDeleteCheckpoints, kDeleteUndelivered, kDeleteMasked, kDeleteSession}) {
    TRY(sqlite::Statement* const statement, prepared(sql));
    sqlite::Use use(*statement);
    TRY_DO(use->bind(1, session.value).run());
  }
  return {};
}

Result<void> SqliteRows::insert(SessionNo session, const Entry& entry) {
  wrote_ = true;
  TRY(sqlite::Statement* const statement, prepared(kInsert));
  sqlite::Use use(*statement);
  use->bind(1, key_of(session, entry.seq))
      .bind(2, session.value)
      .bind(3, entry.parent)
      .bind(4, entry.barrier)
      .bind(5, entry.depth)
      .bind(6, entry.at.ms)
      .bind(7, typed_seal_of(session, entry))
      .bind_blob(8, entry.digest.bytes())
      .bind(9, std::string_view(entry.id.str()))
      .bind(10, std::string_view(entry.type))
      .bind(12, std::string_view(entry.body))
      .bind(13, std::int64_t{entry.imported});
  if (derived_id(entry.id.str(), entry.digest)) {
    use->bind_null(11);
  } else {
    use->bind(11, entry.digest.prefix64());
  }
  TRY_DO(use->run());
  if (Tail* known = tail(session)) {
    known->last_seq = entry.seq;
    known->last =
        Entry{entry.seq, entry.parent, entry.barrier, entry.depth, entry.id, entry.type, "", entry.at, entry.imported, entry.digest};
  }
  return {};
}

Result<void> SqliteRows::set_head(SessionNo session, const HeadName& name, Seq seq) {
  wrote_ = true;
  TRY(sqlite::Statement* const statement, prepared(kSetHead));
  sqlite::Use use(*statement);
  TRY_DO(
      use->bind(1, session.value).bind(2, std::string_view(name.str())).bind(3, seq).bind(4, seal_of(session, HeadRow{name, seq})).run());
  if (Tail* known = tail(session)) known->heads[name] = seq;
  return {};
}

Result<void> SqliteRows::delete_head(SessionNo session, const HeadName& name) {
  wrote_ = true;
  if (Tail* known = tail(session)) known->heads.erase(name);
  TRY(sqlite::Statement* const statement, prepared(kDeleteHead));
  sqlite::Use use(*statement);
  return use->bind(1, session.value).bind(2, std::string_view(name.str())).run();
}

Result<void> SqliteRows::save_checkpoint(SessionNo session, std::string_view fold, const CheckpointRow& row) {
  wrote_ = true;
  TRY(sqlite::Statement* const statement, prepared(kSaveCheckpoint));
  sqlite::Use use(*statement);
  return use->bind(1, session.value)
      .bind(2, fold)
      .bind(3, row.seq)
      .bind_blob(4, row.state)
      .bind(5, checkpoint_seal(session, fold, row.seq, row.state))
      .run();
}

Result<void> SqliteRows::drop_checkpoint(SessionNo session, std::string_view fold, Seq seq) {
  wrote_ = true;
  TRY(sqlite::Statement* const statement, prepared(kDropCheckpoint));
  sqlite::Use use(*statement);
  return use->bind(1, session.value).bind(2, fold).bind(3, seq).run();
}

Result<void> SqliteRows::drop_checkpoints(SessionNo session, std::string_view fold) {
  wrote_ = true;
  TRY(sqlite::Statement* const statement, prepared(kDropCheckpoints));
  sqlite::Use use(*statement);
  return use->bind(1, session.value).bind(2, fold).run();
}

Result<void> SqliteRows::add_masked(SessionNo session, const MaskCounts& counts) {
  if (counts.empty()) return {};
  wrote_ = true;
  TRY(MaskCounts total, masked(session));
  TRY(sqlite::Statement* const statement, prepared(kAddMasked));
  sqlite::Use use(*statement);
  for (const auto& [family, count] : counts) {
    const std::uint64_t sum = total[family] += count;
    TRY_DO(use->bind(1, session.value).bind(2, std::string_view(family)).bind(3, sum).bind(4, masked_seal(session, family, sum)).run());
  }
  return {};
}

Result<void> SqliteRows::mark_purged(const Digest& blob) {
  wrote_ = true;
  TRY(sqlite::Statement* const statement, prepared(kMarkPurged));
  sqlite::Use use(*statement);
  return use->bind_blob(1, blob.bytes()).bind(2, purged_seal(blob.bytes())).run();
}

Result<void> SqliteRows::unmark_purged(const Digest& blob) {
  wrote_ = true;
  TRY(sqlite::Statement* const statement, prepared(kUnmarkPurged));
  sqlite::Use use(*statement);
  return use->bind_blob(1, blob.bytes()).run();
}

Result<void> SqliteRows::mark_purged(const PurgedSession& session) {
  wrote_ = true;
  TRY(sqlite::Statement* const statement, prepared(kMarkPurgedSession));
  sqlite::Use use(*statement);
  return use->bind(1, session.no.value)
      .bind_blob(2, session.name.bytes())
      .bind(3, session.entries)
      .bind_blob(4, session.last.bytes())
      .bind(5, session.at.ms)
      .bind(6, purged_seal(session))
      .run();
}

Result<std::uint64_t> SqliteRows::bytes() {
  const sqlite::Connection::Maintenance maintenance(connection_);
  TRY(const std::int64_t pages, connection_.integer("PRAGMA page_count"));
  TRY(const std::int64_t page_bytes, connection_.integer("PRAGMA page_size"));
  return static_cast<std::uint64_t>(pages * page_bytes);
}

}  // namespace weir
