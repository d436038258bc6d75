#include "store/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

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
    // What is left of a session that was purged: nothing of its text, and its name as a hash. Answers that were not received:
    // those rows come and go with every read, so that table is one tree. Entries that are stored from here on have a seal that
    // covers their type.
    R"sql(
CREATE TABLE purged_session(
  no INTEGER PRIMARY KEY, name BLOB NOT NULL, entries INTEGER NOT NULL, last BLOB NOT NULL, at INTEGER NOT NULL, seal INTEGER NOT NULL);
CREATE TABLE undelivered(
  session INTEGER NOT NULL, path INTEGER NOT NULL, seq INTEGER NOT NULL, times INTEGER NOT NULL, seal INTEGER NOT NULL, PRIMARY KEY(session, path, seq)) WITHOUT ROWID;
)sql",
};
static_assert(std::size(kMigrations) == kSchemaVersion);

// Kind, table and text of everything the scripts make, by name, as sqlite_schema keeps them.
struct Object {
  std::string kind, table, text;
  bool operator==(const Object&) const = default;
};
using Objects = std::map<std::string, Object, std::less<>>;

void add_objects(std::string_view script, Objects& out) {
  while (!script.empty()) {
    const std::size_t end = std::min(script.find(";\n"), script.size());
    std::string_view text = script.substr(0, end);
    script.remove_prefix(std::min(end + 2, script.size()));
    text.remove_prefix(std::min(text.find_first_not_of(" \n"), text.size()));
    if (!text.starts_with("CREATE ")) continue;
    const bool index = text.starts_with("CREATE INDEX ") || text.starts_with("CREATE UNIQUE INDEX ");
    const bool trigger = text.starts_with("CREATE TRIGGER ");
    // The word after `before` and a blank, up to the next bracket or blank.
    const auto word = [&](std::string_view before) {
      const std::size_t at = text.find(before) + before.size() + 1;
      return std::string(text.substr(at, text.find_first_of("( ", at) - at));
    };
    const std::string name = word(trigger ? "TRIGGER" : index ? "INDEX" : "TABLE");
    out[name] = {trigger ? "trigger" : index ? "index" : "table", trigger || index ? word(" ON") : name, std::string(text)};
    // What SQLite adds by itself.
    if (text.find(" AUTOINCREMENT") != std::string_view::npos)
      out["sqlite_sequence"] = {"table", "sqlite_sequence", "CREATE TABLE sqlite_sequence(name,seq)"};
  }
}

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

// Number, tables and version are made in one transaction, so none of them is there without the others.
Error no_version(const Found& found) {
  return Error(ErrorCode::CORRUPT, fmt::format("weir.db is damaged: it says that its schema version is {}", found.version))
      .with("object", "weir.db")
      .with("schema", found.version);
}

// The first finding as an error.
Result<void> refuse_altered(sqlite::Connection& connection, SchemaUse use) {
  if (use == SchemaUse::examine) return {};
  TRY(const auto findings, schema_findings(connection));
  for (const SchemaFinding& one : findings) {
    if (one.added && use == SchemaUse::read) continue;
    return Error(ErrorCode::CORRUPT, "the tables of weir.db are not those of a store: " + one.finding.object + ": " + one.finding.what +
                                         "; 'weir verify' lists all of it, 'weir backup' saves what can be read")
        .with("object", one.finding.object);
  }
  return {};
}

}  // namespace

Result<std::vector<SchemaFinding>> schema_findings(sqlite::Connection& connection, const std::vector<std::string_view>& scripts) {
  Objects expected;
  for (const std::string_view script : scripts) add_objects(script, expected);
  std::set<std::string> there;
  std::vector<SchemaFinding> out;
  TRY(sqlite::Statement rows, connection.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name"));
  for (;;) {
    TRY(const bool row, rows.step());
    if (!row) break;
    const std::string name(rows.text(1));
    const Object found{std::string(rows.text(0)), std::string(rows.text(2)), std::string(rows.text(3))};
    const std::string object = found.kind + " " + name;
    const auto known = expected.find(name);
    // SQLite makes these for keys, and their tables' texts say which.
    if (name.starts_with("sqlite_autoindex_") && rows.is_null(3) && expected.contains(found.table)) continue;
    if (known == expected.end()) {
      out.push_back({{"", "", object, "no store has it"}, true});
      continue;
    }
    if (found != known->second) out.push_back({{"", "", object, "it is not as a store has it"}, false});
    there.insert(name);
  }
  for (const auto& [name, missing] : expected) {
    if (!there.contains(name)) out.push_back({{"", "", missing.kind + " " + name, "it is missing"}, false});
  }
  return out;
}

Result<std::vector<SchemaFinding>> schema_findings(sqlite::Connection& connection) {
  TRY(const Found found, look(connection));
  if (found.version < kReadableVersion) return std::vector<SchemaFinding>{{{"", "", "weir.db", no_version(found).message()}, false}};
  std::vector<std::string_view> scripts;
  for (std::int64_t i = 0; i < std::min(found.version, kSchemaVersion); ++i) scripts.push_back(kMigrations[i]);
  return schema_findings(connection, scripts);
}

Result<void> migrate(sqlite::Connection& connection) {
  // A store that is as it should be is left byte for byte as it is.
  TRY(const Found there, look(connection));
  if (there.application == kApplicationId && there.version == kSchemaVersion) return refuse_altered(connection, SchemaUse::write);
  TRY_DO(connection.execute("BEGIN IMMEDIATE"));
  const auto body = [&]() -> Result<void> {
    TRY(Found found, look(connection));
    const bool empty = found.application == 0 && found.version == 0 && found.tables == 0;
    if (!empty) TRY_DO(refuse_foreign(found));
    if (!empty && found.version < kReadableVersion) return no_version(found);
    if (!empty) TRY_DO(refuse_altered(connection, SchemaUse::write));
    for (; found.version < kSchemaVersion; ++found.version) TRY_DO(connection.execute(kMigrations[found.version]));
    TRY_DO(connection.execute(fmt::format("PRAGMA application_id={}; PRAGMA user_version={}", kApplicationId, kSchemaVersion).c_str()));
    TRY_DO(refuse_altered(connection, SchemaUse::write));
    return connection.execute("COMMIT");
  };
  auto done = body();
  if (!done.ok() && connection.in_transaction()) {
    // Nothing was kept; the first error is the one worth telling.
    if (auto undone = connection.execute("ROLLBACK"); !undone.ok()) return done;
  }
  return done;
}

Result<void> check_schema(sqlite::Connection& connection, SchemaUse use) {
  TRY(const Found found, look(connection));
  if (found.tables == 0) return Error(ErrorCode::STORE_UNUSABLE, "the store is empty: run 'weir init'");
  TRY_DO(refuse_foreign(found));
  if (found.version < kReadableVersion && use != SchemaUse::examine) return no_version(found);
  return refuse_altered(connection, use);
}

Result<void> stand_in_for_missing_tables(sqlite::Connection& connection) {
  TRY(const Found found, look(connection));
  if (found.application != kApplicationId || found.version < kReadableVersion) return {};
  Objects known;
  for (const char* script : kMigrations) add_objects(script, known);
  TRY(sqlite::Statement tables, connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'"));
  for (;;) {
    TRY(const bool row, tables.step());
    if (!row) break;
    known.erase(std::string(tables.text(0)));
  }
  for (const auto& [name, object] : known) {
    if (object.kind != "table" || name == "sqlite_sequence") continue;
    TRY_DO(connection.execute(("CREATE TEMP" + object.text.substr(object.text.find(' '))).c_str()));
  }
  return {};
}

}  // namespace weir
