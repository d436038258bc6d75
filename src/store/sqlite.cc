#include "store/sqlite.h"

#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>

#include "base/check.h"
#include "base/files.h"
#include "base/memory.h"
#include "store/sealed_pages.h"

namespace weir::sqlite {
namespace {

// SQLite's own busy handler sleeps up to 100 ms at a time; a commit here takes a few, so wait in short steps.
int wait_for_lock(void* timeout_ms, int tries) {
  const int step_us = tries < 20 ? 200 : tries < 100 ? 1000 : 5000;
  const std::int64_t waited_us = tries < 20    ? tries * 200
                                 : tries < 100 ? 4000 + (tries - 20) * 1000
                                               : 84000 + std::int64_t{tries - 100} * 5000;
  if (waited_us >= std::int64_t{*static_cast<int*>(timeout_ms)} * 1000) return 0;
  ::usleep(static_cast<useconds_t>(step_us));
  return 1;
}

int authorize(void* connection, int action, const char*, const char*, const char*, const char*) {
  const bool restricted = action == SQLITE_ATTACH || action == SQLITE_DETACH || action == SQLITE_PRAGMA;
  return restricted && static_cast<Connection*>(connection)->maintenance() == 0 ? SQLITE_DENY : SQLITE_OK;
}

// A path inside a URI.
std::string escaped(std::string_view path) {
  std::string out;
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      out += c == '%' ? "%25" : c == '?' ? "%3f" : "%23";
    } else {
      out += c;
    }
  }
  return out;
}

// SQLite keeps no errno of a write that found the disk full.
int system_errno(sqlite3* db, int code) {
  const int error = db == nullptr ? 0 : sqlite3_system_errno(db);
  return error == 0 && (code & 0xFF) == SQLITE_FULL ? ENOSPC : error;
}

ErrorCode code_of(int code, int error) {
  // The errno is that of the last system call that failed, and only these two kinds are about one.
  const int kind = code & 0xFF;
  if (kind == SQLITE_NOMEM || ((kind == SQLITE_CANTOPEN || kind == SQLITE_IOERR) && used_up(error))) return ErrorCode::BUSY;
  if (code == SQLITE_IOERR_DATA) return ErrorCode::CORRUPT;  // a page without its seal
  switch (kind) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return ErrorCode::BUSY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return ErrorCode::CORRUPT;
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return ErrorCode::STORE_UNUSABLE;
    case SQLITE_INTERRUPT:
      return ErrorCode::CANCELLED;
    default:
      return ErrorCode::STORAGE;
  }
}

// What SQLite itself finds damaged is in the file it was reading.
Error error_of(sqlite3* db, int code, std::string_view said, std::string message) {
  // It has no number of its own.
  const bool format = (code & 0xFF) == SQLITE_ERROR && said == "unsupported file format";
  const int error = system_errno(db, code);
  Error out = Error(format ? ErrorCode::CORRUPT : code_of(code, error), std::move(message))
                  .with("sqlite", std::int64_t{code})
                  .with("errno", std::int64_t{error});
  if (db == nullptr || out.code() != ErrorCode::CORRUPT) return out;
  const char* const path = sqlite3_db_filename(db, "main");
  const std::string_view file = path == nullptr ? std::string_view() : path;
  if (file.empty()) return out;  // in memory
  return std::move(out).with("object", std::string(file.substr(file.rfind('/') + 1)));
}

void bound(int code) {
  if (code == SQLITE_NOMEM) throw std::bad_alloc();
  WEIR_CHECK(code == SQLITE_OK);
}

}  // namespace

int linked_version() { return sqlite3_libversion_number(); }

Statement& Statement::operator=(Statement&& other) noexcept {
  std::swap(handle_, other.handle_);
  return *this;
}

Statement::~Statement() { sqlite3_finalize(handle_); }

Statement& Statement::bind(int index, std::int64_t value) {
  bound(sqlite3_bind_int64(handle_, index, value));
  return *this;
}

Statement& Statement::bind(int index, std::string_view text) {
  // A null pointer would bind NULL; the empty text has to be a text.
  const char* data = text.data() == nullptr ? "" : text.data();
  bound(sqlite3_bind_text64(handle_, index, data, text.size(), SQLITE_STATIC, SQLITE_UTF8));
  return *this;
}

Statement& Statement::bind_blob(int index, std::string_view bytes) {
  const char* data = bytes.data() == nullptr ? "" : bytes.data();
  bound(sqlite3_bind_blob64(handle_, index, data, bytes.size(), SQLITE_STATIC));
  return *this;
}

Statement& Statement::bind_null(int index) {
  bound(sqlite3_bind_null(handle_, index));
  return *this;
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(handle_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  sqlite3* db = sqlite3_db_handle(handle_);
  const char* const message = sqlite3_errmsg(db);
  return error_of(db, sqlite3_extended_errcode(db), message, std::string("SQLite: ") + message);
}

Result<void> Statement::run() {
  for (;;) {
    auto row = step();
    if (row.ok() && *row) continue;
    sqlite3_reset(handle_);
    if (!row.ok()) return std::move(row).error();
    return {};
  }
}

void Statement::reset() { sqlite3_reset(handle_); }
std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(handle_, column); }
bool Statement::is_null(int column) const { return sqlite3_column_type(handle_, column) == SQLITE_NULL; }

bool Statement::is_text(int column) const { return sqlite3_column_type(handle_, column) == SQLITE_TEXT; }

std::string_view Statement::text(int column) const {
  const void* data = sqlite3_column_blob(handle_, column);
  return {static_cast<const char*>(data), static_cast<std::size_t>(sqlite3_column_bytes(handle_, column))};
}

Result<std::unique_ptr<Connection>> Connection::open(const std::string& path, Mode mode, int busy_timeout_ms, Pages pages) {
  std::unique_ptr<Connection> connection(new Connection);
  connection->path_ = path;
  connection->busy_timeout_ms_ = busy_timeout_ms;
  const bool reading = mode == Mode::read_only || mode == Mode::examine;
  const int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | (mode == Mode::examine ? SQLITE_OPEN_URI : 0) |
                    (reading ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | (mode == Mode::create ? SQLITE_OPEN_CREATE : 0));
  const std::string name = mode == Mode::examine ? "file:" + escaped(path) + "?readonly_shm=1" : path;
  const char* const vfs = pages == Pages::sealed ? sealed_pages() : nullptr;
  if (pages == Pages::sealed && vfs == nullptr) return Error(ErrorCode::STORE_UNUSABLE, "SQLite takes no file system of ours");
  const int code = sqlite3_open_v2(name.c_str(), &connection->handle_, flags, vfs);
  if (code != SQLITE_OK) return connection->error(code, "cannot open '" + path + "'");
  sqlite3* db = connection->handle_;
  if (pages == Pages::sealed) {
    int reserved = kSealBytes;
    const int made = sqlite3_file_control(db, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved);
    if (made != SQLITE_OK) return connection->error(made, "reserve bytes of every page");
  }
  sqlite3_busy_handler(db, wait_for_lock, &connection->busy_timeout_ms_);
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  return connection;
}

Connection::~Connection() { sqlite3_close_v2(handle_); }

Result<Statement> Connection::prepare(std::string_view sql) {
  Statement statement;
  const int code =
      sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &statement.handle_, nullptr);
  if (code != SQLITE_OK) return error(code, sql);
  return statement;
}

Result<void> Connection::execute(const char* sql) {
  const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return error(code, sql);
  return {};
}

Result<std::int64_t> Connection::integer(const char* sql) {
  TRY(Statement statement, prepare(sql));
  TRY(const bool row, statement.step());
  return row ? statement.integer(0) : 0;
}

bool Connection::in_transaction() const { return sqlite3_get_autocommit(handle_) == 0; }

void Connection::seal() { sqlite3_set_authorizer(handle_, authorize, this); }

Result<void> Connection::sync_wal() {
  sqlite3_file* wal = nullptr;
  const int found = sqlite3_file_control(handle_, "main", SQLITE_FCNTL_JOURNAL_POINTER, &wal);
  if (found != SQLITE_OK) return error(found, "find the write-ahead log");
  if (wal == nullptr || wal->pMethods == nullptr) return {};  // nothing was ever written to it
  const int synced = wal->pMethods->xSync(wal, SQLITE_SYNC_NORMAL);
  if (synced != SQLITE_OK)
    return Error(ErrorCode::STORAGE, std::string("SQLite: cannot sync the write-ahead log: ") + sqlite3_errstr(synced))
        .with("sqlite", std::int64_t{synced});
  return {};
}

Result<void> Connection::backup_to(const std::string& path) {
  TRY(auto target, open(path, Mode::create, busy_timeout_ms_));
  sqlite3_backup* backup = sqlite3_backup_init(target->handle_, "main", handle_, "main");
  if (backup == nullptr) return target->error(sqlite3_errcode(target->handle_), "backup");
  int code = SQLITE_OK;
  // All pages in one step: it is one read transaction, so writers neither wait nor make it start again.
  do {
    code = sqlite3_backup_step(backup, -1);
    if (code == SQLITE_BUSY || code == SQLITE_LOCKED) ::usleep(1000);
  } while (code == SQLITE_OK || code == SQLITE_BUSY || code == SQLITE_LOCKED);
  const int finished = sqlite3_backup_finish(backup);
  if (code != SQLITE_DONE || finished != SQLITE_OK) return target->error(finished != SQLITE_OK ? finished : code, "backup");
  return {};
}

Error Connection::error(int code, std::string_view what) const {
  const char* message = handle_ == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(handle_);
  return error_of(handle_, code, message, std::string("SQLite: ") + message + " (" + std::string(what.substr(0, 120)) + ")");
}

}  // namespace weir::sqlite
