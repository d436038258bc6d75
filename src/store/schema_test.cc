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
  EXPECT_EQ(integer("PRAGMA user_version"), 1);
  EXPECT_EQ(integer("SELECT count(*) FROM sqlite_schema WHERE name IN ('session', 'entry', 'entry_id', 'entry_pointer', 'head', "
                    "'checkpoint', 'masked', 'purged_blob')"),
            8);
  EXPECT_FALSE(connection_->in_transaction());
  EXPECT_EQ(code(check_schema(*connection_)), "OK");
}

TEST_F(SchemaTest, MigratingAgainChangesNothing) {
  must(migrate(*connection_));
  must(connection_->execute("INSERT INTO session(id, created, source, seal) VALUES('s', 1, '', 2)"));
  const std::int64_t version = integer("PRAGMA schema_version");
  must(migrate(*connection_));
  EXPECT_EQ(integer("PRAGMA schema_version"), version);
  EXPECT_EQ(integer("SELECT count(*) FROM session"), 1);
}

TEST_F(SchemaTest, OlderStoreIsBroughtForwardByAWriterAndRefusedByAReader) {
  // A store of version 0 held one thing, and it stays.
  must(connection_->execute("PRAGMA application_id=0x57454952; CREATE TABLE old(x); INSERT INTO old VALUES(7)"));
  const auto refused = check_schema(*connection_);
  ASSERT_EQ(code(refused), "STORE_UNUSABLE");
  EXPECT_EQ(refused.error().message(), "the store has the older schema version 0: 'weir init' brings it to 1");
  EXPECT_EQ(code(SqliteLog::open(path_, SqliteLog::Access::read, {})), "STORE_UNUSABLE");
  EXPECT_EQ(integer("PRAGMA user_version"), 0);
  const auto log = must(SqliteLog::open(path_, SqliteLog::Access::write, {}));
  must(testing::write_to(*log, [](LogTxn& txn) { return txn.create_session(SessionId::trusted("s"), TimeMs{1}); }));
  EXPECT_EQ(integer("PRAGMA user_version"), 1);
  EXPECT_EQ(integer("SELECT x FROM old"), 7);
  EXPECT_EQ(integer("SELECT count(*) FROM session"), 1);
}

TEST_F(SchemaTest, MigrationThatFailsHalfwayLeavesTheOldStore) {
  // `head` is in the way of the fourth statement of the first migration.
  must(connection_->execute("PRAGMA application_id=0x57454952; CREATE TABLE head(x)"));
  const auto failed = migrate(*connection_);
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.error().message(), ::testing::HasSubstr("table head already exists"));
  EXPECT_FALSE(connection_->in_transaction());
  EXPECT_EQ(integer("PRAGMA user_version"), 0);
  EXPECT_EQ(integer("SELECT count(*) FROM sqlite_schema WHERE name IN ('session', 'entry')"), 0);
}

TEST_F(SchemaTest, ForeignAndNewerDatabasesAreRefused) {
  must(connection_->execute("CREATE TABLE theirs(x)"));
  EXPECT_EQ(code(migrate(*connection_)), "STORE_UNUSABLE");
  EXPECT_EQ(code(check_schema(*connection_)), "STORE_UNUSABLE");
  EXPECT_EQ(integer("SELECT count(*) FROM sqlite_schema"), 1);
  must(connection_->execute("PRAGMA application_id=0x57454952; PRAGMA user_version=2"));
  EXPECT_EQ(code(migrate(*connection_)), "STORE_UNUSABLE");
  EXPECT_EQ(code(check_schema(*connection_)), "STORE_UNUSABLE");
  EXPECT_EQ(integer("PRAGMA user_version"), 2);
  EXPECT_FALSE(connection_->in_transaction());
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
