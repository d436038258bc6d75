#include "store/sqlite_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/memory.h"
#include "base/sync_watch.h"
#include "store/part_lost.h"
#include "store/schema.h"
#include "store/sqlite.h"
#include "store/sqlite_rows.h"

namespace weir {
namespace {

struct Connected {  // a connection with its statements
  std::unique_ptr<sqlite::Connection> connection;
  std::unique_ptr<SqliteRows> rows;
  sqlite::Statement begin, commit;
};

constexpr auto kBetweenOpens = std::chrono::milliseconds(5);
constexpr int kMostTurns = 64;  // that a leader gives others to join it

Error poisoned_error() {
  return Error(ErrorCode::STORAGE,
               "a sync to disk failed earlier: nothing more is acknowledged until the store is opened again and verified");
}

constexpr std::int64_t kNoMemory = 7;  // SQLite's number
constexpr std::string_view kWithoutMemory = "error code=7";

// By another process, which will be done soon; what is used up is not worth the wait.
bool is_locked(const Error& error) {
  return error.code() == ErrorCode::BUSY && std::none_of(error.details().begin(), error.details().end(), [](const auto& detail) {
           return (detail.first == "errno" && detail.second != DetailValue(std::int64_t{0})) ||
                  (detail.first == "sqlite" && detail.second == DetailValue(kNoMemory));
         });
}

Error read_only_error() { return Error(ErrorCode::DENIED, "the store is open for reading only"); }

}  // namespace

class SqliteLog::Impl {
 public:
  Impl(std::string path, Access access, SqliteOptions options) : path_(std::move(path)), access_(access), options_(options) {}

  Result<void> open();
  Result<void> read(FunctionRef<Result<void>(LogReader&)> body);
  Result<void> write(FunctionRef<Result<void>(LogTxn&)> body, Grouping grouping);
  Result<void> try_write(FunctionRef<Result<void>(LogTxn&)> body);
  Result<std::uint64_t> version();
  // Runs `body` on the writing connection, outside any transaction.
  Result<void> maintain(FunctionRef<Result<void>(sqlite::Connection&)> body);
  bool poisoned() const { return failed_syncs() != syncs_failed_at_open_; }
  const std::string& path() const { return path_; }
  sqlite::Connection::Mode reading_mode() const {
    return options_.leave_wal_index ? sqlite::Connection::Mode::examine : sqlite::Connection::Mode::read_only;
  }

 private:
  struct Job {
    FunctionRef<Result<void>(LogTxn&)> body;
    Grouping grouping;
    Result<void> result;
    bool done = false;
    std::condition_variable finished;
  };

  Result<Connected> connect();
  void wait_for_company(std::unique_lock<std::mutex>& lock);
  std::vector<Job*> next_batch();
  void commit_batch(const std::vector<Job*>& batch);
  void commit_hint(Job& job);
  Result<void> begin();
  Result<void> check_others_work();
  Result<void> sync_commits(bool on);
  Result<void> commit();
  void roll_back();

  const std::string path_;
  const Access access_;
  const SqliteOptions options_;
  std::uint64_t syncs_failed_at_open_ = 0;

  Connected writer_;                 // used by the leader of a batch only
  std::int64_t schema_version_ = 0;  // of the tables as they were checked last; changes with every change to them

  std::mutex mutex_;  // queue_, busy_, last_batch_
  std::vector<Job*> queue_;
  bool busy_ = false;  // somebody leads
  std::size_t last_batch_ = 0;

  std::mutex readers_mutex_;
  std::vector<Connected> idle_readers_;

  std::mutex watch_mutex_;
  std::unique_ptr<sqlite::Connection> watch_connection_;  // never writes, so every commit is somebody else's
  sqlite::Statement watch_;
};

Result<Connected> SqliteLog::Impl::connect() {
  Connected session;
  const auto mode = access_ == Access::write ? sqlite::Connection::Mode::read_write : reading_mode();
  TRY(session.connection, sqlite::Connection::open(path_, mode, options_.busy_timeout_ms));
  TRY_DO(session.connection->execute("PRAGMA cache_size=-8192"));
  if (access_ == Access::read) TRY_DO(stand_in_for_missing_tables(*session.connection));
  session.rows = std::make_unique<SqliteRows>(*session.connection);
  TRY(session.begin, session.connection->prepare(access_ == Access::write && writer_.connection == nullptr ? "BEGIN IMMEDIATE" : "BEGIN"));
  TRY(session.commit, session.connection->prepare("COMMIT"));
  return session;
}

Result<void> SqliteLog::Impl::open() {
  if (sqlite::linked_version() < sqlite::kLeastVersion) {
    return Error(ErrorCode::STORE_UNUSABLE,
                 fmt::format("linked SQLite {} can corrupt a database in WAL mode; 3.51.3 or newer is needed", sqlite::linked_version()));
  }
  syncs_failed_at_open_ = failed_syncs();
  if (access_ == Access::read && options_.unread) return {};
  TRY(Connected session, connect());
  sqlite::Connection& connection = *session.connection;
  if (access_ == Access::write) {
    // Before the journal mode, so that a file that is not ours is left as it is.
    TRY(const std::int64_t tables, connection.integer("SELECT count(*) FROM sqlite_schema"));
    if (tables != 0) {
      TRY(const std::int64_t application, connection.integer("PRAGMA application_id"));
      if (application != kApplicationId) return Error(ErrorCode::STORE_UNUSABLE, "'" + path_ + "' is no Weir store");
    }
    {
      TRY(sqlite::Statement mode, connection.prepare("PRAGMA journal_mode=WAL"));
      TRY_DO(mode.step());
      if (mode.text(0) != "wal")
        return Error(ErrorCode::STORE_UNUSABLE,
                     "'" + path_ + "' cannot be in WAL mode: its journal mode stays " + std::string(mode.text(0)));
    }
    TRY_DO(connection.execute(options_.durability == Durability::full ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL"));
    TRY_DO(migrate(connection));
    TRY(schema_version_, connection.integer("PRAGMA schema_version"));
    connection.seal();
    writer_ = std::move(session);
  } else {
    TRY_DO(check_schema(connection, options_.examine ? SchemaUse::examine : SchemaUse::read));
    connection.seal();
    idle_readers_.push_back(std::move(session));
  }
  return {};
}

Result<void> SqliteLog::Impl::read(FunctionRef<Result<void>(LogReader&)> body) {
  Connected session;
  {
    const std::lock_guard lock(readers_mutex_);
    if (!idle_readers_.empty()) {
      session = std::move(idle_readers_.back());
      idle_readers_.pop_back();
    }
  }
  if (session.connection == nullptr) {
    TRY(session, connect());
    session.connection->seal();
  }
  TRY_DO(session.begin.run());
  auto result = or_part_lost([&] { return body(*session.rows); });
  // What made the body fail may have ended the transaction too; then it is the reason, and the connection is not used again.
  auto ended = session.commit.run();
  if (!ended.ok()) return result.ok() ? std::move(ended) : std::move(result);
  const std::lock_guard lock(readers_mutex_);
  idle_readers_.push_back(std::move(session));
  return result;
}

Result<std::uint64_t> SqliteLog::Impl::version() {
  const std::lock_guard lock(watch_mutex_);
  if (watch_connection_ == nullptr) {
    TRY(auto opened, sqlite::Connection::open(path_, sqlite::Connection::Mode::read_only, options_.busy_timeout_ms));
    TRY(watch_, opened->prepare("PRAGMA data_version"));
    opened->seal();
    watch_connection_ = std::move(opened);
  }
  // To seal a connection makes SQLite prepare its statements again, and then this one needs the leave to be a PRAGMA.
  const sqlite::Connection::Maintenance maintenance(*watch_connection_);
  sqlite::Use use(watch_);
  TRY_DO(use->step());
  return use->natural(0);
}

Result<void> SqliteLog::Impl::write(FunctionRef<Result<void>(LogTxn&)> body, Grouping grouping) {
  if (access_ != Access::write) return read_only_error();
  Job job{body, grouping, {}, false, {}};
  std::unique_lock lock(mutex_);
  queue_.push_back(&job);
  // Whoever finds nobody leading leads: commits everything that waits, itself included, and wakes the others. While it
  // syncs, the next batch gathers.
  while (!job.done && busy_) job.finished.wait(lock);
  if (job.done) return std::move(job.result);
  busy_ = true;
  wait_for_company(lock);
  while (!job.done) {
    const std::vector<Job*> batch = next_batch();
    lock.unlock();
    const Result<void> done = within_memory([&]() -> Result<void> {
      if (batch.front()->grouping == Grouping::hint) {
        commit_hint(*batch.front());
      } else {
        commit_batch(batch);
      }
      return {};
    });
    if (!done.ok()) {
      roll_back();
      for (Job* other : batch)
        if (other->result.ok()) other->result = done.error();
    }
    lock.lock();
    for (Job* other : batch) {
      other->done = true;
      if (other != &job) other->finished.notify_one();
    }
  }
  busy_ = false;
  if (!queue_.empty()) queue_.front()->finished.notify_one();
  return std::move(job.result);
}

// Those whom the last commit let go come back together; whoever of them is first would sync alone. So it lets the others
// run for a moment, if there were others.
void SqliteLog::Impl::wait_for_company(std::unique_lock<std::mutex>& lock) {
  for (int turns = 0; turns < kMostTurns && queue_.size() < last_batch_; ++turns) {
    lock.unlock();
    std::this_thread::yield();
    lock.lock();
  }
}

// In arrival order; one that wants a commit of its own gets it.
std::vector<SqliteLog::Impl::Job*> SqliteLog::Impl::next_batch() {
  std::size_t count = 0;
  while (count < queue_.size() && queue_[count]->grouping == Grouping::shared) ++count;
  if (count == 0) count = 1;
  std::vector<Job*> batch(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(count));
  queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(count));
  last_batch_ = count;
  return batch;
}

void SqliteLog::Impl::commit_batch(const std::vector<Job*>& batch) {
  std::vector<Job*> todo = batch;
  while (!todo.empty()) {
    Result<void> committed = begin();
    bool again = false;
    if (committed.ok()) {
      writer_.rows->take_wrote();
      bool wrote = false, acknowledges = false;
      for (std::size_t i = 0; i < todo.size(); ++i) {
        todo[i]->result = or_part_lost([&] { return todo[i]->body(*writer_.rows); });
        acknowledges |= todo[i]->result.ok();
        const bool wrote_now = writer_.rows->take_wrote();
        wrote |= wrote_now;
        if (wrote_now && !todo[i]->result.ok()) {
          // It wrote before it failed: take everything back and do the others again without it.
          roll_back();
          todo.erase(todo.begin() + static_cast<std::ptrdiff_t>(i));
          again = true;
          break;
        }
      }
      if (again) continue;
      // What is acknowledged because it was there may have been left unsynced, by a writer with another durability.
      if (acknowledges && !wrote && options_.durability == Durability::full) committed = writer_.rows->sync_committed();
      if (committed.ok()) {
        committed = commit();
      } else {
        roll_back();
      }
    }
    if (!committed.ok()) {
      for (Job* job : todo) {
        if (job->result.ok()) job->result = committed.error();
      }
    }
    return;
  }
}

// Not synced now, it is on disk with the next commit that is, or is forgotten.
void SqliteLog::Impl::commit_hint(Job& job) {
  auto committed = sync_commits(false);
  if (committed.ok()) committed = begin();
  if (committed.ok()) {
    job.result = job.body(*writer_.rows);
    if (job.result.ok()) {
      committed = commit();
    } else {
      roll_back();
    }
  }
  if (auto again = sync_commits(true); committed.ok()) committed = std::move(again);
  if (!committed.ok() && job.result.ok()) job.result = std::move(committed).error();
}

Result<void> SqliteLog::Impl::sync_commits(bool on) {
  if (options_.durability != Durability::full) return {};
  const sqlite::Connection::Maintenance maintenance(*writer_.connection);
  return writer_.connection->execute(on ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL");
}

Result<void> SqliteLog::Impl::begin() {
  if (poisoned()) return poisoned_error();
  TRY_DO(writer_.begin.run());
  auto checked = check_others_work();
  if (!checked.ok()) roll_back();
  return checked;
}

// Another process may have written, and not only entries: a trigger it planted must not keep what is acknowledged here from
// being stored.
Result<void> SqliteLog::Impl::check_others_work() {
  TRY(const bool others, writer_.rows->remember_tails());
  if (!others) return {};
  const sqlite::Connection::Maintenance maintenance(*writer_.connection);
  TRY(const std::int64_t version, writer_.connection->integer("PRAGMA schema_version"));
  if (version == schema_version_) return {};
  TRY_DO(check_schema(*writer_.connection, SchemaUse::write));
  schema_version_ = version;
  return {};
}

Result<void> SqliteLog::Impl::commit() {
  auto committed = writer_.commit.run();
  if (committed.ok() && poisoned()) return poisoned_error();
  if (!committed.ok()) roll_back();
  return committed;
}

void SqliteLog::Impl::roll_back() {
  writer_.rows->forget_tails();
  if (!writer_.connection->in_transaction()) return;
  // A failing rollback leaves the transaction open and the next BEGIN says so; there is nothing else to do here.
  if (auto undone = writer_.connection->execute("ROLLBACK"); !undone.ok()) return;
}

Result<void> SqliteLog::Impl::try_write(FunctionRef<Result<void>(LogTxn&)> body) {
  // A body that always fails is rolled back; its own outcome travels beside.
  Result<void> outcome;
  auto done = write(
      [&](LogTxn& txn) -> Result<void> {
        outcome = body(txn);
        return Error(ErrorCode::CANCELLED, "a dry run");
      },
      Grouping::alone);
  if (!done.ok() && done.error().code() != ErrorCode::CANCELLED) return done;
  return outcome;
}

Result<void> SqliteLog::Impl::maintain(FunctionRef<Result<void>(sqlite::Connection&)> body) {
  if (access_ != Access::write) return read_only_error();
  std::unique_lock lock(mutex_);
  while (busy_) {
    lock.unlock();
    // Queues behind whoever leads now.
    TRY_DO(write([](LogTxn&) -> Result<void> { return {}; }, Grouping::alone));
    lock.lock();
  }
  busy_ = true;
  lock.unlock();
  Result<void> result;
  {
    const sqlite::Connection::Maintenance maintenance(*writer_.connection);
    result = body(*writer_.connection);
  }
  if (result.ok() && poisoned()) result = poisoned_error();
  lock.lock();
  busy_ = false;
  if (!queue_.empty()) queue_.front()->finished.notify_one();
  return result;
}

SqliteLog::SqliteLog(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SqliteLog::~SqliteLog() = default;

Result<std::unique_ptr<SqliteLog>> SqliteLog::open(const std::string& path, Access access, SqliteOptions options) {
  // While another process makes the same store, SQLite refuses the change to a write-ahead log at once, whatever the timeout.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(options.busy_timeout_ms);
  for (;;) {
    auto impl = std::make_unique<Impl>(path, access, options);
    auto opened = impl->open();
    if (opened.ok()) return std::unique_ptr<SqliteLog>(new SqliteLog(std::move(impl)));
    if (!is_locked(opened.error()) || std::chrono::steady_clock::now() >= deadline) return std::move(opened).error();
    std::this_thread::sleep_for(kBetweenOpens);
  }
}

Result<void> SqliteLog::read(FunctionRef<Result<void>(LogReader&)> body) { return impl_->read(body); }
Result<void> SqliteLog::write(FunctionRef<Result<void>(LogTxn&)> body, Grouping grouping) { return impl_->write(body, grouping); }
Result<void> SqliteLog::try_write(FunctionRef<Result<void>(LogTxn&)> body) { return impl_->try_write(body); }
bool SqliteLog::poisoned() const { return impl_->poisoned(); }

Result<std::uint64_t> SqliteLog::version() { return impl_->version(); }

Result<std::vector<Finding>> SqliteLog::check_structure(bool quick) {
  std::vector<Finding> findings;
  TRY(auto connection, sqlite::Connection::open(impl_->path(), impl_->reading_mode(), 10000));
  const auto each = [&](const char* sql, FunctionRef<void(sqlite::Statement&)> visit) -> Result<void> {
    TRY(sqlite::Statement statement, connection->prepare(sql));
    for (;;) {
      TRY(const bool row, statement.step());
      if (!row) return {};
      visit(statement);
    }
  };
  bool starved = false;
  auto done = each(quick ? "PRAGMA quick_check(100)" : "PRAGMA integrity_check(100)", [&](sqlite::Statement& row) {
    if (row.text(0) != "ok") findings.push_back({"", "", "weir.db", std::string(row.text(0))});
    // So the check calls a page it had no memory for.
    starved = starved || row.text(0).find(kWithoutMemory) != std::string_view::npos;
  });
  if (starved) return out_of_memory();
  auto schema = schema_findings(*connection);
  if (schema.ok()) {
    for (SchemaFinding& one : *schema) findings.push_back(std::move(one.finding));
  }
  // Nobody would ever read these, and so nobody would miss them.
  if (done.ok()) {
    done = each(
        "SELECT session FROM entry WHERE session NOT IN (SELECT no FROM session) UNION SELECT session FROM head WHERE session NOT IN "
        "(SELECT no FROM session)",
        [&](sqlite::Statement& row) {
          findings.push_back({"", "", "session number " + std::to_string(row.integer(0)), "it has entries or heads and no session row"});
        });
  }
  // A number that is given again would join what is left of one session to another.
  if (done.ok() && schema.ok() && schema->empty()) {
    done = each(
        "SELECT ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'session'), 0), ifnull((SELECT max(no) FROM session), 0)",
        [&](sqlite::Statement& row) {
          if (row.integer(0) < row.integer(1))
            findings.push_back({"", "", "sqlite_sequence",
                                "it counts " + std::to_string(row.integer(0)) + " sessions, there are " + std::to_string(row.integer(1))});
        });
  }
  if (!done.ok() && done.error().code() == ErrorCode::BUSY) return std::move(done).error();  // that is no damage
  if (!done.ok()) findings.push_back({"", "", "weir.db", done.error().message()});
  return findings;
}

Result<void> SqliteLog::backup_to(const std::string& path) {
  TRY(auto connection, sqlite::Connection::open(impl_->path(), impl_->reading_mode(), 10000));
  return connection->backup_to(path);
}

Result<void> SqliteLog::compact(bool vacuum) {
  return impl_->maintain([&](sqlite::Connection& connection) -> Result<void> {
    if (vacuum) TRY_DO(connection.execute("VACUUM"));
    TRY(sqlite::Statement checkpoint, connection.prepare("PRAGMA wal_checkpoint(TRUNCATE)"));
    TRY_DO(checkpoint.step());
    if (checkpoint.integer(0) != 0) return Error(ErrorCode::BUSY, "the write-ahead log cannot be emptied while somebody reads it");
    return {};
  });
}

Result<void> SqliteLog::secure_delete() {
  return impl_->maintain([](sqlite::Connection& connection) { return connection.execute("PRAGMA secure_delete=ON"); });
}

}  // namespace weir
