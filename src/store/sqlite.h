// SQLite behind a narrow header: a connection, its prepared statements, and errors as Results.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace weir::sqlite {

// Affected by the WAL-reset race that corrupts a database with two connections: fixed in 3.51.3.
inline constexpr int kLeastVersion = 3051003;
int linked_version();

class Statement {
 public:
  Statement() = default;
  Statement(Statement&& other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
  Statement& operator=(Statement&& other) noexcept;
  ~Statement();

  // Texts and blobs must live until the next reset.
  Statement& bind(int index, std::int64_t value);
  Statement& bind(int index, std::uint64_t value) { return bind(index, static_cast<std::int64_t>(value)); }
  Statement& bind(int index, std::string_view text);
  Statement& bind_blob(int index, std::string_view bytes);
  Statement& bind_null(int index);

  Result<bool> step();  // true: a row is there
  Result<void> run();   // steps to the end and resets
  void reset();

  std::int64_t integer(int column) const;
  std::uint64_t natural(int column) const { return static_cast<std::uint64_t>(integer(column)); }
  bool is_null(int column) const;
  bool is_text(int column) const;           // as it is stored: a blob of the same bytes is found by no index
  std::string_view text(int column) const;  // text or blob; valid until the next step

 private:
  friend class Connection;
  sqlite3_stmt* handle_ = nullptr;
};

// Resets the statement when the scope ends, whatever way it ends.
class Use {
 public:
  explicit Use(Statement& statement) : statement_(statement) { statement_.reset(); }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  ~Use() { statement_.reset(); }
  Statement* operator->() { return &statement_; }

 private:
  Statement& statement_;
};

class Connection {
 public:
  enum class Mode {
    read_only,
    examine,  // read only, and the index of the write-ahead log stays as it is, as evidence
    read_write,
    create,
  };

  enum class Pages { plain, sealed };  // sealed: store/sealed_pages.h, for files that were made that way

  static Result<std::unique_ptr<Connection>> open(const std::string& path, Mode mode, int busy_timeout_ms, Pages pages = Pages::plain);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Result<Statement> prepare(std::string_view sql);
  Result<void> execute(const char* sql);
  Result<std::int64_t> integer(const char* sql);  // the one value of the one row
  bool in_transaction() const;

  // From now on ATTACH and PRAGMA are refused, but inside a Maintenance.
  void seal();
  class Maintenance {
   public:
    explicit Maintenance(Connection& connection) : connection_(connection) { ++connection_.maintenance_; }
    ~Maintenance() { --connection_.maintenance_; }
    Maintenance(const Maintenance&) = delete;
    Maintenance& operator=(const Maintenance&) = delete;

   private:
    Connection& connection_;
  };

  // Syncs the write-ahead log as it is. In a write transaction that is all that was committed before.
  Result<void> sync_wal();

  // Copies the whole database into the file `path`, page by page, while others write.
  Result<void> backup_to(const std::string& path);

  Error error(int code, std::string_view what) const;
  int maintenance() const { return maintenance_; }

 private:
  Connection() = default;
  sqlite3* handle_ = nullptr;
  std::string path_;
  int maintenance_ = 0;
  int busy_timeout_ms_ = 0;
};

}  // namespace weir::sqlite
