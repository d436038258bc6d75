// What only the SQLite log does: shared commits, several writers at one file, backup and maintenance.
#include "store/sqlite_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "testing/log_access.h"
#include "testing/results.h"
#include "testing/rows.h"
#include "testing/temp_dir.h"

namespace weir {
namespace {

using testing::code;
using testing::dump;
using testing::make_row;
using testing::must;
using testing::read_file;

class SqliteLogTest : public ::testing::Test {
 protected:
  SqliteLogTest() {
    testing::write_file(path_, "");
    log_ = open();
  }
  std::unique_ptr<SqliteLog> open(SqliteOptions options = {}, SqliteLog::Access access = SqliteLog::Access::write) {
    return must(SqliteLog::open(path_, access, options));
  }
  SessionRow make_session(std::string_view name) {
    return must(testing::write_to(*log_, [&](LogTxn& txn) { return txn.create_session(SessionId::trusted(name), TimeMs{1}); }));
  }
  static Result<void> write(Log& log, FunctionRef<Result<void>(LogTxn&)> body) { return log.write(body); }
  static Result<void> add(LogTxn& txn, SessionNo session, std::string_view body) {
    TRY(const Seq last, txn.last_seq(session));
    return txn.insert(session, make_row(last + 1, nullptr, "message", body, "n" + std::to_string(last + 1)));
  }
  Seq last(Log& log, SessionNo session) {
    return must(testing::read_from(log, [&](LogReader& r) { return r.last_seq(session); }));
  }

  testing::TempDir dir_;
  const std::string path_ = dir_ / "weir.db";
  std::unique_ptr<SqliteLog> log_;
};

TEST_F(SqliteLogTest, MissingFileIsNotMade) {
  std::filesystem::remove(path_);
  EXPECT_EQ(code(SqliteLog::open(path_, SqliteLog::Access::write, {})), "STORE_UNUSABLE");
  EXPECT_EQ(code(SqliteLog::open(path_, SqliteLog::Access::read, {})), "STORE_UNUSABLE");
  EXPECT_FALSE(std::filesystem::exists(path_));
}

// While one caller commits, three gather: the first and the third share a commit with the second, which fails after it
// wrote, so the first has to run again.
TEST_F(SqliteLogTest, FailingBodyIsTakenOutOfTheSharedCommit) {
  const SessionRow session = make_session("s");
  bool shared = false;
  for (int attempt = 0; attempt < 100 && !shared; ++attempt) {
    const Seq before = last(*log_, session.no);
    std::atomic<bool> leading = false, release = false;
    std::atomic<int> first_runs = 0;
    std::thread leader([&] {
      must(write(*log_, [&](LogTxn& txn) {
        leading = true;
        while (!release) std::this_thread::yield();
        return add(txn, session.no, R"({"by":"leader"})");
      }));
    });
    while (!leading) std::this_thread::yield();
    const auto pause = [&] { std::this_thread::sleep_for(std::chrono::milliseconds(2 + attempt)); };
    Result<void> first, second, third;
    std::thread one([&] {
      first = write(*log_, [&](LogTxn& txn) {
        ++first_runs;
        return add(txn, session.no, R"({"by":"first"})");
      });
    });
    pause();
    std::thread two([&] {
      second = write(*log_, [&](LogTxn& txn) -> Result<void> {
        TRY_DO(add(txn, session.no, R"({"by":"second"})"));
        return Error(ErrorCode::CONFLICT, "not me");
      });
    });
    pause();
    std::thread three([&] { third = write(*log_, [&](LogTxn& txn) { return add(txn, session.no, R"({"by":"third"})"); }); });
    pause();
    release = true;
    for (std::thread* thread : {&leader, &one, &two, &three}) thread->join();
    EXPECT_EQ(code(first), "OK");
    EXPECT_EQ(code(second), "CONFLICT");
    EXPECT_EQ(code(third), "OK");
    EXPECT_EQ(last(*log_, session.no), before + 3);
    shared = first_runs == 2;
  }
  EXPECT_TRUE(shared);
  EXPECT_THAT(dump(*log_), ::testing::Not(::testing::HasSubstr("second")));
}

TEST_F(SqliteLogTest, TwoLogsAtOneFileLoseNothing) {
  const SessionRow session = make_session("s");
  const auto other = open();
  std::atomic<int> refused = 0;
  std::vector<std::thread> threads;
  for (SqliteLog* log : {log_.get(), other.get(), log_.get(), other.get()}) {
    threads.emplace_back([&, log] {
      for (int i = 0; i < 25; ++i) refused += !write(*log, [&](LogTxn& txn) { return add(txn, session.no, "{}"); }).ok();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, 0);
  EXPECT_EQ(last(*log_, session.no), 100u);
  EXPECT_EQ(dump(*log_), dump(*other));
  EXPECT_TRUE(must(log_->check_structure(false)).empty());
}

TEST_F(SqliteLogTest, VersionTellsOfCommitsOfAnotherLog) {
  const SessionRow session = make_session("s");
  const auto other = open();
  const std::uint64_t before = must(log_->version());
  EXPECT_EQ(must(log_->version()), before);
  must(write(*other, [&](LogTxn& txn) { return add(txn, session.no, "{}"); }));
  EXPECT_NE(must(log_->version()), before);
}

TEST(SqliteLogOpening, ManyWhoMakeOneStoreAtOnceAllGetIt) {
  for (int round = 0; round < 20; ++round) {
    testing::TempDir dir;
    testing::write_file(dir / "weir.db", "");
    std::vector<std::thread> threads;
    std::atomic<int> refused = 0;
    for (int i = 0; i < 6; ++i)
      threads.emplace_back([&] { refused += SqliteLog::open(dir / "weir.db", SqliteLog::Access::write, {}).ok() ? 0 : 1; });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(refused, 0);
  }
}

TEST_F(SqliteLogTest, LogLockedByAnotherWriterIsBusyAfterTheTimeout) {
  const SessionRow session = make_session("s");
  const auto impatient = open({Durability::full, 30});
  must(write(*log_, [&](LogTxn& txn) -> Result<void> {
    TRY_DO(add(txn, session.no, "{}"));
    EXPECT_EQ(code(write(*impatient, [&](LogTxn& other) { return add(other, session.no, "{}"); })), "BUSY");
    EXPECT_EQ(last(*impatient, session.no), 0u);
    return {};
  }));
  must(write(*impatient, [&](LogTxn& txn) { return add(txn, session.no, "{}"); }));
  EXPECT_EQ(last(*log_, session.no), 2u);
}

TEST_F(SqliteLogTest, NormalDurabilityIsAnOptionAndKeepsTheSameRows) {
  const SessionRow session = make_session("s");
  const auto normal = open({Durability::normal, 1000});
  must(write(*normal, [&](LogTxn& txn) { return add(txn, session.no, "{}"); }));
  EXPECT_EQ(last(*log_, session.no), 1u);
}

TEST_F(SqliteLogTest, BackupTakenAmidWritesIsAWholeLog) {
  const SessionRow session = make_session("s");
  std::atomic<bool> done = false;
  std::thread writer([&] {
    while (!done) {
      must(write(*log_, [&](LogTxn& txn) -> Result<void> {
        TRY_DO(add(txn, session.no, "{}"));
        return add(txn, session.no, "{}");
      }));
    }
  });
  while (last(*log_, session.no) < 4) std::this_thread::yield();
  const auto backed_up = log_->backup_to(dir_ / "copy.db");
  done = true;
  writer.join();
  must(backed_up);
  const auto copy = must(SqliteLog::open(dir_ / "copy.db", SqliteLog::Access::read, {}));
  const Seq count = last(*copy, session.no);
  EXPECT_GE(count, 4u);
  EXPECT_EQ(count % 2, 0u);
  EXPECT_TRUE(must(copy->check_structure(false)).empty());
  EXPECT_THAT(dump(*log_), ::testing::StartsWith(dump(*copy)));
}

TEST_F(SqliteLogTest, CompactEmptiesTheWalAndVacuumShrinksTheFile) {
  const SessionRow session = make_session("s"), kept = make_session("kept");
  must(write(*log_, [&](LogTxn& txn) -> Result<void> {
    for (int i = 0; i < 50; ++i) TRY_DO(add(txn, session.no, "{\"t\":\"" + std::string(20000, 'x') + "\"}"));
    return add(txn, kept.no, "{}");
  }));
  EXPECT_GT(std::filesystem::file_size(path_ + "-wal"), 1000000u);
  must(log_->compact(false));
  EXPECT_EQ(std::filesystem::file_size(path_ + "-wal"), 0u);
  EXPECT_GT(std::filesystem::file_size(path_), 1000000u);
  must(write(*log_, [&](LogTxn& txn) { return txn.delete_session(session.no); }));
  const std::string before = dump(*log_);
  must(log_->compact(true));
  EXPECT_LT(std::filesystem::file_size(path_), 200000u);
  EXPECT_EQ(dump(*log_), before);
  EXPECT_GT(make_session("new").no, kept.no);
}

TEST_F(SqliteLogTest, SecureDeleteLeavesNoTraceOfADeletedBody) {
  const SessionRow session = make_session("s");
  must(write(*log_, [&](LogTxn& txn) { return add(txn, session.no, R"({"t":"a most secret thing"})"); }));
  must(log_->compact(false));
  EXPECT_THAT(read_file(path_), ::testing::HasSubstr("a most secret thing"));
  must(log_->secure_delete());
  must(write(*log_, [&](LogTxn& txn) { return txn.delete_session(session.no); }));
  must(log_->compact(false));
  EXPECT_EQ(read_file(path_).find("a most secret thing"), std::string::npos);
}

TEST_F(SqliteLogTest, MaintenanceWaitsForWritersAndTheyForIt) {
  const SessionRow session = make_session("s");
  std::atomic<int> refused = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 10; ++i) {
        refused += thread == 0 ? !log_->compact(false).ok() : !write(*log_, [&](LogTxn& txn) { return add(txn, session.no, "{}"); }).ok();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, 0);
  EXPECT_EQ(last(*log_, session.no), 30u);
}

}  // namespace
}  // namespace weir
