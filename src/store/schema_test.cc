#include "store/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/sqlite_log.h"
#include "testing/log_access.h"
#include "testing/results.h"
#include "testing/temp_dir.h"

namespace weir {
namespace {

using testing::code;
using testing::must;

class SchemaTest : public ::testing::Test {
 protected:
  SchemaTest() : connection_(must(sqlite::Connection::open(path_, sqlite::Connection::Mode::create, 1000))) {}
  std::int64_t integer(const char* sql) { return must(connection_->integer(sql)); }

  testing::TempDir dir_;
  const std::string path_ = dir_ / "weir.db";
  std::unique_ptr<sqlite::Connection> connection_;
};

TEST_F(SchemaTest, EmptyDatabaseIsFilled) {
  must(migrate(*connection_));
  EXPECT_EQ(integer("PRAGMA application_id"), 0x57454952);
  EXPECT_EQ(integer("PRAGMA user_version"), 2);
  EXPECT_EQ(integer("SELECT count(*) FROM sqlite_schema WHERE name IN ('session', 'entry', 'entry_id', 'entry_pointer', 'head', "
                    "'checkpoint', 'masked', 'purged_blob', 'purged_session', 'undelivered')"),
            10);
  EXPECT_FALSE(connection_->in_transaction());
  EXPECT_EQ(code(check_schema(*connection_, SchemaUse::read)), "OK");
}

TEST_F(SchemaTest, MigratingAgainChangesNothing) {
  must(migrate(*connection_));
  must(connection_->execute("INSERT INTO session(id, created, source, seal) VALUES('s', 1, '', 2)"));
  const std::int64_t version = integer("PRAGMA schema_version");
  must(migrate(*connection_));
  EXPECT_EQ(integer("PRAGMA schema_version"), version);
  EXPECT_EQ(integer("SELECT count(*) FROM session"), 1);
}

TEST_F(SchemaTest, AStoreOfVersionOneIsReadAsItIsAndBroughtForwardByAWriter) {
  must(migrate(*connection_));
  must(connection_->execute("DROP TABLE purged_session; DROP TABLE undelivered; PRAGMA user_version=1; PRAGMA journal_mode=WAL"));
  const auto reader = must(SqliteLog::open(path_, SqliteLog::Access::read, {}));
  must(reader->read([](LogReader& rows) -> Result<void> {
    TRY(const auto purged, rows.purged_sessions());
    EXPECT_TRUE(purged.empty());
    return {};
  }));
  EXPECT_EQ(integer("PRAGMA user_version"), 1);
  const auto log = must(SqliteLog::open(path_, SqliteLog::Access::write, {}));
  must(testing::write_to(*log, [](LogTxn& txn) { return txn.create_session(SessionId::trusted("s"), TimeMs{1}); }));
  EXPECT_EQ(integer("PRAGMA user_version"), 2);
  EXPECT_EQ(integer("SELECT count(*) FROM session"), 1);
  EXPECT_EQ(integer("SELECT count(*) FROM purged_session"), 0);
}

TEST_F(SchemaTest, TablesOfNoVersionAreDamage) {
  must(connection_->execute("PRAGMA application_id=0x57454952; CREATE TABLE old(x)"));
  const auto refused = check_schema(*connection_, SchemaUse::read);
  ASSERT_EQ(code(refused), "CORRUPT");
  EXPECT_EQ(refused.error().message(), "weir.db is damaged: it says that its schema version is 0");
  EXPECT_EQ(testing::detail(refused.error(), "object"), "weir.db");
  EXPECT_EQ(code(SqliteLog::open(path_, SqliteLog::Access::read, {})), "CORRUPT");
  EXPECT_EQ(integer("PRAGMA user_version"), 0);
}

TEST_F(SchemaTest, ATableInTheWayOfAMigrationIsDamageAndNothingIsChanged) {
  must(connection_->execute("PRAGMA application_id=0x57454952; CREATE TABLE head(x)"));
  for (const int version : {0, -1}) {
    must(connection_->execute(("PRAGMA user_version=" + std::to_string(version)).c_str()));
    const auto failed = migrate(*connection_);
    ASSERT_EQ(code(failed), "CORRUPT");
    EXPECT_THAT(failed.error().message(), ::testing::HasSubstr("says that its schema version is " + std::to_string(version)));
    EXPECT_FALSE(connection_->in_transaction());
    EXPECT_EQ(integer("PRAGMA user_version"), version);
    EXPECT_EQ(integer("SELECT count(*) FROM sqlite_schema WHERE name IN ('session', 'entry')"), 0);
  }
  must(connection_->execute("DROP TABLE head; PRAGMA user_version=1; CREATE TABLE head(x)"));
  EXPECT_THAT(migrate(*connection_).error().message(), ::testing::HasSubstr("table head: it is not as a store has it"));
}

TEST_F(SchemaTest, ForeignAndNewerDatabasesAreRefused) {
  must(connection_->execute("CREATE TABLE theirs(x)"));
  EXPECT_EQ(code(migrate(*connection_)), "STORE_UNUSABLE");
  EXPECT_EQ(code(check_schema(*connection_, SchemaUse::read)), "STORE_UNUSABLE");
  EXPECT_EQ(integer("SELECT count(*) FROM sqlite_schema"), 1);
  must(connection_->execute("PRAGMA application_id=0x57454952; PRAGMA user_version=3"));
  EXPECT_EQ(code(migrate(*connection_)), "STORE_UNUSABLE");
  EXPECT_EQ(code(check_schema(*connection_, SchemaUse::read)), "STORE_UNUSABLE");
  EXPECT_EQ(integer("PRAGMA user_version"), 3);
  EXPECT_FALSE(connection_->in_transaction());
}

// What somebody may do to a store behind our back, whether it hinders a reader too, and where the error says it is.
struct Altered {
  const char* sql;
  bool refused_by_reader;
  const char* object;
};
class AlteredSchemaTest : public SchemaTest, public ::testing::WithParamInterface<Altered> {};

TEST_P(AlteredSchemaTest, IsRefusedByAWriterAndReported) {
  must(migrate(*connection_));
  must(connection_->execute("PRAGMA journal_mode=WAL"));
  must(connection_->execute(GetParam().sql));
  const auto refused = SqliteLog::open(path_, SqliteLog::Access::write, {});
  ASSERT_EQ(code(refused), "CORRUPT");
  EXPECT_THAT(refused.error().message(), ::testing::HasSubstr(GetParam().object));
  EXPECT_THAT(refused.error().message(), ::testing::HasSubstr("'weir verify' lists all of it"));
  EXPECT_EQ(code(SqliteLog::open(path_, SqliteLog::Access::read, {})), GetParam().refused_by_reader ? "CORRUPT" : "OK");
  SqliteOptions examining;
  examining.examine = true;
  const auto log = must(SqliteLog::open(path_, SqliteLog::Access::read, examining));
  std::vector<std::string> objects;
  for (const Finding& finding : must(log->check_structure(true))) objects.push_back(finding.object);
  EXPECT_THAT(objects, ::testing::Contains(GetParam().object));
}

INSTANTIATE_TEST_SUITE_P(
    Ways, AlteredSchemaTest,
    ::testing::Values(Altered{"CREATE TRIGGER swallow BEFORE INSERT ON entry BEGIN SELECT raise(ignore); END", false, "trigger swallow"},
                      Altered{"CREATE VIEW entries AS SELECT * FROM entry", false, "view entries"},
                      Altered{"CREATE TABLE more(x)", false, "table more"},
                      Altered{"CREATE INDEX entry_at ON entry(at)", false, "index entry_at"},
                      Altered{"DROP INDEX entry_id", true, "index entry_id"}, Altered{"DROP TABLE masked", true, "table masked"},
                      Altered{"ALTER TABLE entry ADD COLUMN note TEXT", true, "table entry"},
                      Altered{"ALTER TABLE head RENAME COLUMN seq TO place", true, "table head"},
                      Altered{"DROP INDEX entry_id; CREATE INDEX entry_id ON entry(session, id)", true, "index entry_id"}));

TEST_F(SchemaTest, ATriggerPlantedUnderAnOpenWriterIsRefusedToo) {
  const auto log = must(SqliteLog::open(path_, SqliteLog::Access::write, {}));
  const auto add = [&](const char* name) {
    return testing::write_to(*log, [&](LogTxn& txn) { return txn.create_session(SessionId::trusted(name), TimeMs{1}); });
  };
  must(add("before"));
  must(connection_->execute("CREATE TRIGGER swallow BEFORE INSERT ON head BEGIN SELECT raise(ignore); END"));
  EXPECT_EQ(code(add("after")), "CORRUPT");
  must(connection_->execute("DROP TRIGGER swallow"));
  must(add("again"));
}

TEST_F(SchemaTest, SealedConnectionRefusesPragmaAndAttachOutsideMaintenance) {
  connection_->seal();
  EXPECT_EQ(code(connection_->execute("PRAGMA user_version=5")), "STORE_UNUSABLE");
  EXPECT_EQ(code(connection_->execute("ATTACH ':memory:' AS other")), "STORE_UNUSABLE");
  const sqlite::Connection::Maintenance maintenance(*connection_);
  EXPECT_EQ(code(connection_->execute("PRAGMA user_version=5")), "OK");
  EXPECT_EQ(integer("PRAGMA user_version"), 5);
}

TEST(SqliteTest, LinkedVersionIsNotAffectedByTheWalResetRace) { EXPECT_GE(sqlite::linked_version(), sqlite::kLeastVersion); }

}  // namespace
}  // namespace weir
