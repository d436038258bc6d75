// Which directories are stores that may be used, and what a store does about failing disks.
#include "store/store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/sync_watch.h"
#include "store/schema.h"
#include "testing/doors.h"
#include "testing/fault_files.h"
#include "testing/log_access.h"
#include "testing/results.h"
#include "testing/rows.h"
#include "testing/temp_dir.h"

namespace weir {
namespace {

using testing::code;
using testing::detail;
using testing::FaultFiles;
using testing::FileCall;
using ::testing::HasSubstr;
using testing::must;
using testing::read_file;
using testing::write_file;

class StoreTest : public ::testing::Test {
 protected:
  Result<std::unique_ptr<Store>> open(Store::Access access) { return Store::open(path_, access, {}, {files_, clock_, random_}); }
  void make_store() { must(open(Store::Access::write)); }
  // A database at the store's place, with whatever `sql` puts into it.
  void make_database(const char* sql) {
    must(files_.make_directory(path_));
    const auto connection = must(sqlite::Connection::open(database_, sqlite::Connection::Mode::create, 1000));
    must(connection->execute(sql));
  }
  std::string refusal(Store::Access access) {
    const auto opened = open(access);
    return opened.ok() ? "OK" : code(opened) + ": " + opened.error().message();
  }
  static void make_session(Store& store, std::string_view name) {
    must(testing::write_to(store.log(), [&](LogTxn& txn) { return txn.create_session(SessionId::trusted(name), TimeMs{1}); }));
  }

  testing::TempDir dir_;
  const std::string path_ = dir_ / "deep/er/store";
  const std::string database_ = path_ + "/weir.db";
  FaultFiles files_;
  testing::SteppingClock clock_{1700000000000, -1};
  testing::SeededRandom random_{5};

  void SetUp() override { must(files_.make_directories(dir_ / "deep/er")); }
};

TEST_F(StoreTest, WriterMakesWhatIsMissingAndAReaderFindsIt) {
  std::filesystem::remove_all(dir_ / "deep");
  {
    const auto store = must(open(Store::Access::write));
    make_session(*store, "s");
    EXPECT_FALSE(store->suspect());
    EXPECT_GT(store->database_bytes(), 0u);
    for (const std::string& directory : {dir_ / "deep", dir_ / "deep/er", path_, path_ + "/objects"})
      EXPECT_EQ(must(files_.stat(directory)).mode, 0700u) << directory;
    for (const char* suffix : {"", "-wal", "-shm"}) EXPECT_EQ(must(files_.stat(database_ + suffix)).mode, 0600u) << suffix;
  }
  const auto reader = must(open(Store::Access::read));
  EXPECT_EQ(testing::dump(reader->log()), "session s created 1 source ''\n");
  EXPECT_EQ(code(reader->log().write([](LogTxn&) -> Result<void> { return {}; })), "DENIED");
  EXPECT_EQ(code(reader->log().try_write([](LogTxn&) -> Result<void> { return {}; })), "DENIED");
  EXPECT_EQ(code(reader->sqlite()->compact(true)), "DENIED");
  EXPECT_EQ(code(reader->sqlite()->secure_delete()), "DENIED");
}

TEST_F(StoreTest, ReaderRefusesWhatIsMissingAndMakesNothing) {
  const auto opened = open(Store::Access::read);
  ASSERT_EQ(code(opened), "STORE_UNUSABLE");
  EXPECT_THAT(opened.error().message(), HasSubstr("no store at '" + path_ + "'"));
  EXPECT_EQ(detail(opened.error(), "path"), path_);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(StoreTest, EmptyFileIsAFreshStoreForAWriterOnly) {
  must(files_.make_directory(path_));
  write_file(database_, "");
  must(files_.change_mode(database_, 0600));
  EXPECT_EQ(refusal(Store::Access::read), "STORE_UNUSABLE: the store is empty: run 'weir init'");
  EXPECT_EQ(read_file(database_), "");
  EXPECT_EQ(refusal(Store::Access::write), "OK");
  EXPECT_EQ(refusal(Store::Access::read), "OK");
}

TEST_F(StoreTest, FileThatIsNoDatabaseIsRefusedAndLeftAsItIs) {
  must(files_.make_directory(path_));
  const std::string text = "dear diary, " + std::string(5000, '.');
  write_file(database_, text);
  must(files_.change_mode(database_, 0600));
  for (const auto access : {Store::Access::read, Store::Access::write}) {
    EXPECT_THAT(refusal(access),
                HasSubstr("STORE_UNUSABLE: '" + database_ + "' cannot be read as a store: SQLite: file is not a database"));
    EXPECT_EQ(read_file(database_), text);
  }
}

TEST_F(StoreTest, AnotherProgramsDatabaseIsRefusedAndLeftAsItIs) {
  make_database("CREATE TABLE theirs(x); INSERT INTO theirs VALUES(1)");
  must(files_.change_mode(database_, 0600));
  const std::string before = read_file(database_);
  EXPECT_EQ(refusal(Store::Access::read), "STORE_UNUSABLE: this SQLite file is no Weir store");
  EXPECT_EQ(refusal(Store::Access::write), "STORE_UNUSABLE: '" + database_ + "' is no Weir store");
  EXPECT_EQ(read_file(database_), before);
}

TEST_F(StoreTest, NewerStoreIsRefusedWithBothVersions) {
  make_store();
  {
    const auto connection = must(sqlite::Connection::open(database_, sqlite::Connection::Mode::read_write, 1000));
    must(connection->execute("PRAGMA user_version=99"));
  }
  for (const auto access : {Store::Access::read, Store::Access::write}) {
    const auto opened = open(access);
    ASSERT_EQ(code(opened), "STORE_UNUSABLE");
    EXPECT_EQ(opened.error().message(), "the store has schema version 99, this program knows 2: use a newer weir");
    EXPECT_EQ(detail(opened.error(), "schema"), "99");
    EXPECT_EQ(detail(opened.error(), "known"), "2");
  }
}

TEST_F(StoreTest, StoreThatOthersMayWriteToIsRefused) {
  make_store();
  for (const auto access : {Store::Access::read, Store::Access::write}) {
    for (const unsigned mode : {0770u, 0702u, 0777u}) {
      must(files_.change_mode(path_, mode));
      EXPECT_THAT(refusal(access), HasSubstr("STORE_UNUSABLE: '" + path_ + "' has mode 0" + std::to_string(mode / 64) +
                                             std::to_string(mode / 8 % 8) + std::to_string(mode % 8)));
    }
    must(files_.change_mode(path_, 0755));  // others may look
    EXPECT_EQ(refusal(access), "OK");
    must(files_.change_mode(database_, 0620));
    EXPECT_THAT(refusal(access), HasSubstr("STORE_UNUSABLE: '" + database_ + "' has mode 0620"));
    must(files_.change_mode(database_, 0600));
  }
}

TEST_F(StoreTest, AnotherUsersStoreIsRefused) {
  // The files of everybody else, as stat would show them.
  class ForeignFiles final : public FaultFiles {
    Result<FileStat> stat(const std::string& path) override {
      TRY(FileStat st, FaultFiles::stat(path));
      st.uid += 1;
      return st;
    }
  } foreign;
  make_store();
  for (const auto access : {Store::Access::read, Store::Access::write}) {
    const auto opened = Store::open(path_, access, {}, {foreign, clock_, random_});
    ASSERT_EQ(code(opened), "STORE_UNUSABLE");
    EXPECT_THAT(opened.error().message(), HasSubstr("belongs to user"));
  }
}

TEST_F(StoreTest, OtherThingsInItsPlaceAreRefused) {
  write_file(path_, "a file");
  EXPECT_THAT(refusal(Store::Access::write), HasSubstr("STORE_UNUSABLE: '" + path_ + "' is not a directory"));
  std::filesystem::remove(path_);
  must(files_.make_directory(dir_ / "elsewhere"));
  std::filesystem::create_directory_symlink(dir_ / "elsewhere", path_);
  EXPECT_THAT(refusal(Store::Access::write), HasSubstr("STORE_UNUSABLE: '" + path_ + "' is not a directory"));
  std::filesystem::remove(path_);
  must(files_.make_directory(path_));
  must(files_.make_directory(database_));
  EXPECT_THAT(refusal(Store::Access::write), HasSubstr("STORE_UNUSABLE: '" + database_ + "' is not a regular file"));
  std::filesystem::remove(database_);
  write_file(dir_ / "other.db", "");
  std::filesystem::create_symlink(dir_ / "other.db", database_);
  EXPECT_THAT(refusal(Store::Access::write), HasSubstr("STORE_UNUSABLE: '" + database_ + "' is not a regular file"));
}

TEST_F(StoreTest, OpeningSurvivesAnyFailingCall) {
  for (const auto lasting : {FaultFiles::Lasting::once, FaultFiles::Lasting::for_ever}) {
    for (std::uint64_t k = 1;; ++k) {
      SCOPED_TRACE("call " + std::to_string(k));
      std::filesystem::remove_all(path_);
      files_.fail(k, lasting);
      const auto opened = open(Store::Access::write);
      if (opened.ok()) make_session(**opened, "s");
      files_.work();
      if (!files_.failed()) {
        EXPECT_EQ(code(opened), "OK");
        EXPECT_GT(k, 10u);
        break;
      }
      EXPECT_THAT(code(opened), ::testing::AnyOf("OK", "STORAGE"));
      const auto again = must(open(Store::Access::write));
      EXPECT_EQ(testing::dump(again->log()), opened.ok() ? "session s created 1 source ''\n" : "");
    }
  }
}

TEST_F(StoreTest, SuspectMarkOutlivesTheProcessUntilItIsCleared) {
  must(open(Store::Access::write))->leave_suspect_mark();
  const auto store = must(open(Store::Access::write));
  EXPECT_TRUE(store->suspect());
  files_.fail(1, FaultFiles::Lasting::once, FileCall::remove);
  EXPECT_EQ(code(store->clear_suspect_mark()), "STORAGE");
  EXPECT_TRUE(store->suspect());
  EXPECT_TRUE(must(open(Store::Access::read))->suspect());
  must(store->clear_suspect_mark());
  EXPECT_FALSE(store->suspect());
  EXPECT_FALSE(must(open(Store::Access::read))->suspect());
  must(store->clear_suspect_mark());
}

TEST_F(StoreTest, MarkThatCannotBeLookedForCountsAsThere) {
  class BlindFiles final : public FaultFiles {
    Result<FileStat> stat(const std::string& path) override {
      if (path.ends_with("/suspect")) return storage_error("cannot stat", path, EIO);
      return FaultFiles::stat(path);
    }
  } blind;
  make_store();
  EXPECT_FALSE(must(open(Store::Access::read))->suspect());
  EXPECT_TRUE(must(Store::open(path_, Store::Access::read, {}, {blind, clock_, random_}))->suspect());
}

TEST_F(StoreTest, NearlyFullDiskTakesNoMoreWrites) {
  const auto store = must(open(Store::Access::write));
  files_.pretend_percent_full(94);
  EXPECT_EQ(code(store->writable()), "OK");
  files_.pretend_percent_full(95);
  const auto full = store->writable();
  ASSERT_EQ(code(full), "STORAGE");
  EXPECT_EQ(full.error().message(), "the disk is 95 % full, writes stop at 95 %; reads go on");
  EXPECT_EQ(detail(full.error(), "percent"), "95");
  files_.pretend_percent_full(1);
  files_.fail(1, FaultFiles::Lasting::once, FileCall::percent_full);
  EXPECT_EQ(code(store->writable()), "STORAGE");
  EXPECT_EQ(code(store->writable()), "OK");
  files_.pretend_percent_full(99);
  EXPECT_EQ(code(store->writable()), "STORAGE");
}

TEST_F(StoreTest, StoreThatSawAFailedSyncAcknowledgesNothingMore) {
  const auto store = must(open(Store::Access::write));
  make_session(*store, "before");
  const std::uint64_t failed = failed_syncs();
  EXPECT_EQ(weir_watched_fsync(-1), -1);
  EXPECT_EQ(weir_watched_fdatasync(-1), -1);
  EXPECT_EQ(failed_syncs(), failed + 2);
  EXPECT_TRUE(store->sqlite()->poisoned());
  EXPECT_EQ(code(store->writable()), "STORAGE");
  int runs = 0;
  EXPECT_EQ(code(store->log().write([&](LogTxn& txn) -> Result<void> {
              ++runs;
              TRY_DO(txn.create_session(SessionId::trusted("after"), TimeMs{1}));
              return {};
            })),
            "STORAGE");
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(testing::dump(store->log()), "session before created 1 source ''\n");
  // Opening it again starts afresh; so does a sync that works.
  const auto again = must(open(Store::Access::write));
  EXPECT_FALSE(again->sqlite()->poisoned());
  make_session(*again, "after");
  const int file = ::open(database_.c_str(), O_RDONLY);
  EXPECT_EQ(weir_watched_fsync(file), 0);
  ::close(file);
  EXPECT_FALSE(again->sqlite()->poisoned());
}

TEST_F(StoreTest, SyncThatFailsDuringACommitIsNotAcknowledged) {
  const auto store = must(open(Store::Access::write));
  EXPECT_EQ(code(store->log().write([&](LogTxn& txn) -> Result<void> {
              TRY_DO(txn.create_session(SessionId::trusted("s"), TimeMs{1}));
              EXPECT_EQ(weir_watched_fsync(-1), -1);
              return {};
            })),
            "STORAGE");
}

TEST(MemoryStoreTest, IsAlwaysWritableAndLeavesNoMark) {
  const auto store = Store::in_memory({});
  EXPECT_EQ(code(store->writable()), "OK");
  store->leave_suspect_mark();
  EXPECT_FALSE(store->suspect());
  EXPECT_EQ(code(store->clear_suspect_mark()), "OK");
  EXPECT_EQ(store->sqlite(), nullptr);
  EXPECT_EQ(store->directory(), "");
  EXPECT_EQ(store->database_bytes(), 0u);
}

}  // namespace
}  // namespace weir
