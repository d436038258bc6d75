#include "store/schema.h"

#include <fmt/format.h>

#include <iterator>

namespace weir {
namespace {

// kMigrations[i] takes a store from version i to i + 1. They are never edited, only added to.
//
// entry.key is session << 40 | seq: unique, and it keeps a session's entries side by side, so a path is read in
// sequence however many sessions are written at once. `pointer` holds the digest's first 64 bits only where the id does
// not show them already, because an index over digests halves the speed of an append.
constexpr const char* kMigrations[] = {
    R"sql(
CREATE TABLE session(
  no INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, created INTEGER NOT NULL, source TEXT NOT NULL, seal INTEGER NOT NULL);
CREATE TABLE entry(
  key INTEGER PRIMARY KEY, session INTEGER NOT NULL, parent INTEGER NOT NULL, barrier INTEGER NOT NULL, depth INTEGER NOT NULL,
  at INTEGER NOT NULL, imported INTEGER NOT NULL, seal INTEGER NOT NULL, digest BLOB NOT NULL, id TEXT NOT NULL, type TEXT NOT NULL, pointer INTEGER, body TEXT NOT NULL);
CREATE UNIQUE INDEX entry_id ON entry(session, id);
CREATE INDEX entry_pointer ON entry(session, pointer) WHERE pointer IS NOT NULL;
CREATE TABLE head(session INTEGER NOT NULL, name TEXT NOT NULL, seq INTEGER NOT NULL, seal INTEGER NOT NULL, PRIMARY KEY(session, name));
CREATE TABLE checkpoint(
  session INTEGER NOT NULL, fold TEXT NOT NULL, seq INTEGER NOT NULL, state BLOB NOT NULL, seal INTEGER NOT NULL, PRIMARY KEY(session, fold, seq));
CREATE TABLE masked(session INTEGER NOT NULL, family TEXT NOT NULL, count INTEGER NOT NULL, seal INTEGER NOT NULL, PRIMARY KEY(session, family));
CREATE TABLE purged_blob(digest BLOB PRIMARY KEY, seal INTEGER NOT NULL);
)sql",
};
static_assert(std::size(kMigrations) == kSchemaVersion);

struct Found {
  std::int64_t application = 0, version = 0, tables = 0;
};

Result<Found> look(sqlite::Connection& connection) {
  Found found;
  TRY(found.application, connection.integer("PRAGMA application_id"));
  TRY(found.version, connection.integer("PRAGMA user_version"));
  TRY(found.tables, connection.integer("SELECT count(*) FROM sqlite_schema"));
  return found;
}

Result<void> refuse_foreign(const Found& found) {
  if (found.application != kApplicationId) return Error(ErrorCode::STORE_UNUSABLE, "this SQLite file is no Weir store");
  if (found.version > kSchemaVersion) {
    return Error(ErrorCode::STORE_UNUSABLE,
                 fmt::format("the store has schema version {}, this program knows {}: use a newer weir", found.version, kSchemaVersion))
        .with("schema", found.version)
        .with("known", kSchemaVersion);
  }
  return {};
}

}  // namespace

Result<void> migrate(sqlite::Connection& connection) {
  // A store that is as it should be is left byte for byte as it is.
  TRY(const Found there, look(connection));
  if (there.application == kApplicationId && there.version == kSchemaVersion) return {};
  TRY_DO(connection.execute("BEGIN IMMEDIATE"));
  const auto body = [&]() -> Result<void> {
    TRY(Found found, look(connection));
    const bool empty = found.application == 0 && found.version == 0 && found.tables == 0;
    if (!empty) TRY_DO(refuse_foreign(found));
    for (; found.version < kSchemaVersion; ++found.version) TRY_DO(connection.execute(kMigrations[found.version]));
    TRY_DO(connection.execute(fmt::format("PRAGMA application_id={}; PRAGMA user_version={}", kApplicationId, kSchemaVersion).c_str()));
    return connection.execute("COMMIT");
  };
  auto done = body();
  if (!done.ok() && connection.in_transaction()) {
    // Nothing was kept; the first error is the one worth telling.
    if (auto undone = connection.execute("ROLLBACK"); !undone.ok()) return done;
  }
  return done;
}

Result<void> check_schema(sqlite::Connection& connection) {
  TRY(const Found found, look(connection));
  if (found.tables == 0) return Error(ErrorCode::STORE_UNUSABLE, "the store is empty: run 'weir init'");
  TRY_DO(refuse_foreign(found));
  if (found.version < kSchemaVersion) {
    return Error(ErrorCode::STORE_UNUSABLE,
                 fmt::format("the store has the older schema version {}: 'weir init' brings it to {}", found.version, kSchemaVersion))
        .with("schema", found.version)
        .with("known", kSchemaVersion);
  }
  return {};
}

}  // namespace weir
