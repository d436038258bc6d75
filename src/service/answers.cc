#include "service/answers.h"

#include <unistd.h>

#include <chrono>
#include <thread>
#include <utility>

#include "store/schema.h"
#include "store/seal.h"

namespace weir {
namespace {

constexpr std::int64_t kVersion = 3;
constexpr int kWaitMs = 10000;
constexpr auto kBetweenTries = std::chrono::milliseconds(20);
// Answers of an older version are not worth a conversion: they live for a day.
constexpr const char* kSchema = R"sql(
DROP TABLE IF EXISTS answer;
DROP TABLE IF EXISTS kept;
DROP TABLE IF EXISTS purge;
CREATE TABLE answer(
  key BLOB PRIMARY KEY, request BLOB NOT NULL, session TEXT NOT NULL, at INTEGER NOT NULL, status INTEGER NOT NULL, type TEXT NOT NULL,
  body BLOB NOT NULL, seal INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX answer_at ON answer(at);
CREATE INDEX answer_session ON answer(session);
CREATE TABLE kept(purges INTEGER NOT NULL, bytes INTEGER NOT NULL);
INSERT INTO kept VALUES(0, 0);
CREATE TABLE purge(number INTEGER PRIMARY KEY, session BLOB NOT NULL);
CREATE TRIGGER answer_in AFTER INSERT ON answer BEGIN UPDATE kept SET bytes = bytes + 256 + length(new.body); END;
CREATE TRIGGER answer_out AFTER DELETE ON answer BEGIN UPDATE kept SET bytes = bytes - 256 - length(old.body); END;
PRAGMA user_version=3;
)sql";
constexpr std::size_t kRowBytes = 256;  // of an answer beside its body, as the triggers count

std::string path_of(Store& store) { return store.directory() + "/" + std::string(kAnswersFile); }

std::int64_t seal_of(const Digest& key, std::string_view request, std::string_view session, std::int64_t at, const KeptAnswer& answer) {
  return Seal("answer")
      .text(key.bytes())
      .text(request)
      .text(session)
      .number(static_cast<std::uint64_t>(at))
      .number(static_cast<std::uint64_t>(answer.status))
      .text(answer.type)
      .text(answer.body)
      .value();
}

// A request is not done a second time because its answer is damaged.
Error damaged(std::string_view what) {
  return Error(ErrorCode::CORRUPT, std::string(kAnswersFile) + " is damaged: " + std::string(what) +
                                       "; remove it: it holds the answers of one day, for requests that are sent again")
      .with("object", std::string(kAnswersFile));
}

// All or nothing.
Result<void> in_transaction(sqlite::Connection& connection, FunctionRef<Result<void>()> body) {
  TRY_DO(connection.execute("BEGIN IMMEDIATE"));
  const auto whole = [&]() -> Result<void> {
    TRY_DO(body());
    return connection.execute("COMMIT");
  };
  auto done = whole();
  if (!done.ok() && connection.in_transaction()) {
    // Nothing was kept; the first error is the one worth telling.
    if (auto undone = connection.execute("ROLLBACK"); !undone.ok()) return done;
  }
  return done;
}

Result<void> check_file(Store& store) {
  const std::string path = path_of(store);
  const auto st = store.doors().files.stat(path);
  if (!st.ok() && st.error().code() == ErrorCode::NOT_FOUND) return {};
  TRY_DO(st);
  if (st->kind != FileStat::Kind::regular || st->uid != ::geteuid() || (st->mode & 022) != 0)
    return Error(ErrorCode::STORE_UNUSABLE, "'" + path + "' is not a file that only its owner may write").with("path", path);
  return {};
}

// Makes the tables in a file that has none, or has those of an older version. A version that its tables are not of is a damaged
// one: made anew they would know no request, and each that is sent again would be done again.
Result<void> make_tables(sqlite::Connection& connection) {
  TRY(const std::int64_t version, connection.integer("PRAGMA user_version"));
  TRY(const std::int64_t tables, connection.integer("SELECT count(*) FROM sqlite_schema"));
  if (version == 0 && tables == 0) return connection.execute(kSchema);
  TRY(const auto altered, schema_findings(connection, {kSchema}));
  if (version == kVersion)
    return altered.empty() ? Result<void>() : damaged(altered.front().finding.object + ": " + altered.front().finding.what);
  if (version <= 0 || altered.empty()) return damaged("it says that it is of version " + std::to_string(version));
  if (version < kVersion) return connection.execute(kSchema);
  return Error(ErrorCode::STORE_UNUSABLE, "answers.db is of version " + std::to_string(version) + ": use a newer weir")
      .with("schema", version)
      .with("known", kVersion);
}

Result<std::unique_ptr<sqlite::Connection>> open_database(const std::string& path) {
  TRY(auto connection, sqlite::Connection::open(path, sqlite::Connection::Mode::create, kWaitMs));
  // Deleted answers are overwritten at once; what the write-ahead log still holds goes with a purge.
  TRY_DO(connection->execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA secure_delete=ON; PRAGMA temp_store=MEMORY"));
  TRY_DO(in_transaction(*connection, [&] { return make_tables(*connection); }));
  connection->seal();
  return connection;
}

// A row that is not found has no seal to fail, and its request would be done again: so all are looked at when the file is opened.
Result<void> prove(sqlite::Connection& connection) {
  const sqlite::Connection::Maintenance maintenance(connection);
  TRY(sqlite::Statement check, connection.prepare("PRAGMA integrity_check(1)"));
  TRY_DO(check.step());
  if (check.text(0) != "ok") return damaged(check.text(0));
  TRY(sqlite::Statement rows, connection.prepare("SELECT key, request, session, at, status, type, body, seal FROM answer"));
  for (;;) {
    TRY(const bool row, rows.step());
    if (!row) return {};
    const auto key = Digest::from_bytes(rows.text(0));
    const KeptAnswer kept{static_cast<int>(rows.integer(4)), std::string(rows.text(5)), std::string(rows.text(6))};
    if (!key.ok() || rows.integer(7) != seal_of(*key, rows.text(1), rows.text(2), rows.integer(3), kept)) return damaged("an answer");
  }
}

// Pages that were split keep copies of what moved: the file is written anew, and its log emptied.
Result<void> empty(sqlite::Connection& connection) {
  const sqlite::Connection::Maintenance maintenance(connection);
  TRY_DO(connection.execute("VACUUM"));
  TRY(sqlite::Statement checkpoint, connection.prepare("PRAGMA wal_checkpoint(TRUNCATE)"));
  TRY_DO(checkpoint.step());
  if (checkpoint.integer(0) > 0) return Error(ErrorCode::BUSY, "the log of answers.db cannot be emptied while somebody reads it");
  return {};
}

Result<void> forget_in(sqlite::Connection& connection, const std::optional<SessionId>& session) {
  TRY_DO(in_transaction(connection, [&]() -> Result<void> {
    TRY(sqlite::Statement remove, connection.prepare(session ? "DELETE FROM answer WHERE session = ?" : "DELETE FROM answer"));
    if (session) remove.bind(1, session->str());
    TRY_DO(remove.run());
    TRY_DO(connection.execute("UPDATE kept SET purges = purges + 1"));
    // By its hash: of what was purged not even the name stays. Requests that began before the last thousand are over.
    TRY(sqlite::Statement note, connection.prepare("INSERT INTO purge(number, session) SELECT purges, ? FROM kept"));
    TRY_DO(note.bind_blob(1, session ? sha256(session->str()).bytes() : std::string_view()).run());
    return connection.execute("DELETE FROM purge WHERE number <= (SELECT purges FROM kept) - 1000");
  }));
  // Those who read it do so for moments.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kWaitMs);
  for (;;) {
    auto emptied = empty(connection);
    const bool busy = !emptied.ok() && emptied.error().code() == ErrorCode::BUSY;
    if (!busy || std::chrono::steady_clock::now() >= deadline) return emptied;
    std::this_thread::sleep_for(kBetweenTries);
  }
}

}  // namespace

struct Answers::Database {
  std::unique_ptr<sqlite::Connection> connection;
  sqlite::Statement find, insert, expire, drop_oldest, kept, purged_since;

  struct Kept {
    std::int64_t purges, bytes;
  };
  Result<Kept> count() {
    sqlite::Use use(kept);
    TRY_DO(use->step());
    return Kept{use->integer(0), use->integer(1)};
  }
  // Was the session, or something that may be anywhere, purged since so many purges?
  Result<bool> purged(std::string_view session, std::int64_t since) {
    sqlite::Use use(purged_since);
    return use->bind(1, since).bind_blob(2, sha256(session).bytes()).step();
  }
};

Answers::Answers(Store& store, std::unique_ptr<Database> database) : store_(store), database_(std::move(database)) {}
Answers::~Answers() = default;

Result<std::unique_ptr<Answers>> Answers::open(Store& store, bool in_memory) {
  const bool file = !in_memory && store.sqlite() != nullptr;
  if (file) TRY_DO(check_file(store));
  auto database = std::make_unique<Database>();
  TRY(database->connection, open_database(file ? path_of(store) : ":memory:"));
  TRY_DO(prove(*database->connection));
  TRY(database->find,
      database->connection->prepare("SELECT request, status, type, body, session, at, seal FROM answer WHERE key = ? AND at > ?"));
  TRY(database->insert,
      database->connection->prepare(
          "INSERT INTO answer(key, request, session, at, status, type, body, seal) VALUES(?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"));
  TRY(database->expire, database->connection->prepare("DELETE FROM answer WHERE at <= ?"));
  TRY(database->drop_oldest, database->connection->prepare("DELETE FROM answer WHERE key = (SELECT key FROM answer ORDER BY at LIMIT 1)"));
  TRY(database->kept, database->connection->prepare("SELECT purges, bytes FROM kept"));
  TRY(database->purged_since,
      database->connection->prepare("SELECT 1 FROM purge WHERE number > ? AND (session = ? OR length(session) = 0) LIMIT 1"));
  return std::unique_ptr<Answers>(new Answers(store, std::move(database)));
}

Result<Answers::Begun> Answers::begin(std::string_view key, const Digest& request) {
  const auto mismatch = [] { return Error(ErrorCode::IDEMPOTENCY_MISMATCH, "this Idempotency-Key came with another request"); };
  const Digest name = sha256(key);
  const std::lock_guard lock(mutex_);
  if (const auto running = under_way_.find(name); running != under_way_.end()) {
    if (running->second != request) return mismatch();
    return Error(ErrorCode::BUSY, "the request with this Idempotency-Key is under way");
  }
  Begun out;
  const std::int64_t since = store_.doors().clock.now().ms - kAnswersKeptMs;
  sqlite::Use find(database_->find);
  TRY(const bool there, find->bind_blob(1, name.bytes()).bind(2, since).step());
  if (there) {
    KeptAnswer kept{static_cast<int>(find->integer(1)), std::string(find->text(2)), std::string(find->text(3))};
    if (find->integer(6) != seal_of(name, find->text(0), find->text(4), find->integer(5), kept)) return damaged("an answer");
    if (find->text(0) != request.bytes()) return mismatch();
    out.kept = std::move(kept);
    return out;
  }
  TRY(const Database::Kept before, database_->count());
  under_way_.emplace(name, request);
  out.turn.emplace(*this, name, request, before.purges);
  return out;
}

Answers::Turn::~Turn() {
  if (answers_ != nullptr) answers_->end(*this);
}

Result<void> Answers::Turn::keep(std::string_view session, const KeptAnswer& answer) const {
  return answers_->keep(*this, session, answer);
}

void Answers::end(const Turn& turn) {
  const std::lock_guard lock(mutex_);
  under_way_.erase(turn.key_);
}

Result<void> Answers::keep(const Turn& turn, std::string_view session, const KeptAnswer& answer) {
  const std::int64_t now = store_.doors().clock.now().ms;
  const std::lock_guard lock(mutex_);
  TRY_DO(store_.writable());
  return in_transaction(*database_->connection, [&]() -> Result<void> {
    TRY_DO(database_->expire.bind(1, now - kAnswersKeptMs).run());
    TRY(Database::Kept kept, database_->count());
    TRY(const bool purged, database_->purged(session, turn.purges_));
    if (purged) return {};
    const auto more = static_cast<std::int64_t>(kRowBytes + answer.body.size());
    while (kept.bytes > 0 && kept.bytes + more > static_cast<std::int64_t>(kAnswersKeptBytes)) {
      TRY_DO(database_->drop_oldest.run());
      TRY(const Database::Kept left, database_->count());
      // A count that does not fall although answers go is no count.
      if (left.bytes >= kept.bytes) return damaged("the count of its bytes");
      kept = left;
    }
    sqlite::Use insert(database_->insert);
    return insert->bind_blob(1, turn.key_.bytes())
        .bind_blob(2, turn.request_.bytes())
        .bind(3, session)
        .bind(4, now)
        .bind(5, std::int64_t{answer.status})
        .bind(6, std::string_view(answer.type))
        .bind_blob(7, answer.body)
        .bind(8, seal_of(turn.key_, turn.request_.bytes(), session, now, answer))
        .run();
  });
}

Result<void> Answers::forget(const std::optional<SessionId>& session) {
  const std::lock_guard lock(mutex_);
  return forget_in(*database_->connection, session);
}

Result<void> forget_answers(Store& store, const std::optional<SessionId>& session) {
  if (store.sqlite() == nullptr || !store.doors().files.stat(path_of(store)).ok()) return {};
  TRY_DO(check_file(store));
  TRY(const auto connection, open_database(path_of(store)));
  return forget_in(*connection, session);
}

}  // namespace weir
