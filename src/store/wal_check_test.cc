// A write-ahead log that lost commits to damage is told from one that a power cut tore.
#include "store/wal_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "store/sqlite.h"
#include "store/store.h"
#include "store/verify.h"
#include "testing/log_access.h"
#include "testing/results.h"
#include "testing/rows.h"
#include "testing/temp_dir.h"

namespace weir {
namespace {

using testing::code;
using ::testing::HasSubstr;
using testing::must;
using testing::read_file;
using testing::write_file;

constexpr std::size_t kFrame = 24 + 4096, kHeader = 32;

// A store as a killed process leaves it: sixteen commits in the log, and the log's index.
class WalCheckTest : public ::testing::Test {
 protected:
  WalCheckTest() {
    const auto store = must(Store::open(dir_ / "live", Store::Access::write, {}, {}));
    const SessionRow session =
        must(testing::write_to(store->log(), [](LogTxn& txn) { return txn.create_session(SessionId::trusted("s"), TimeMs{1}); }));
    for (Seq i = 1; i <= 14; ++i) {
      must(testing::write_to(store->log(), [&](LogTxn& txn) {
        return txn.insert(session.no,
                          testing::make_row(i, nullptr, "message", R"({"t":")" + std::string(900, 'a') + std::to_string(i) + R"("})"));
      }));
    }
    std::filesystem::copy(dir_ / "live", directory_, std::filesystem::copy_options::recursive);
    wal_ = read_file(path("-wal"));
  }

  std::string path(const char* suffix) const { return directory_ + "/weir.db" + suffix; }
  void put_wal(const std::string& bytes) { write_file(path("-wal"), bytes); }
  std::optional<std::string> damage(bool commits_synced = true) { return must(find_wal_damage(system_files(), path(""), commits_synced)); }
  void lose_index() { std::filesystem::remove(path("-shm")); }
  std::size_t frames() const { return (wal_.size() - kHeader) / kFrame; }
  bool commit(std::size_t frame) const { return wal_.substr(kHeader + frame * kFrame + 4, 4) != std::string(4, '\0'); }
  // The first frame of the last commit.
  std::size_t last_commit() const {
    std::size_t frame = frames() - 1;
    while (frame > 0 && !commit(frame - 1)) --frame;
    return frame;
  }

  testing::TempDir dir_;
  const std::string directory_ = dir_ / "store";
  std::string wal_;
};

TEST_F(WalCheckTest, SoundLogHasNoDamage) {
  ASSERT_GT(frames(), 30u);
  ASSERT_TRUE(commit(frames() - 1));
  EXPECT_EQ(damage(), std::nullopt);
  lose_index();
  EXPECT_EQ(damage(), std::nullopt);
  std::filesystem::remove(path("-wal"));
  EXPECT_EQ(damage(), std::nullopt);
}

TEST_F(WalCheckTest, FlippedBitAnywhereInTheLogIsDamage) {
  for (std::size_t at = 0; at < wal_.size(); at += 1021) {
    std::string bytes = wal_;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << at % 8));
    put_wal(bytes);
    EXPECT_TRUE(damage().has_value()) << "byte " << at;
  }
}

TEST_F(WalCheckTest, WithoutTheIndexOnlyTheLastCommitMayPassForTorn) {
  lose_index();
  const std::size_t last = kHeader + last_commit() * kFrame;
  for (std::size_t at = kHeader; at < wal_.size(); at += 1021) {
    std::string bytes = wal_;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << at % 8));
    put_wal(bytes);
    EXPECT_EQ(damage().has_value(), at < last) << "byte " << at << ", the last commit begins at " << last;
  }
}

TEST_F(WalCheckTest, LogThatWasCutIsDamageWhereTheIndexKnowsBetter) {
  for (std::size_t size = 0; size < wal_.size(); size += 1536) {
    put_wal(wal_.substr(0, size));
    EXPECT_TRUE(damage().has_value()) << size;
  }
  lose_index();
  for (std::size_t size = 0; size < wal_.size(); size += 512) {
    put_wal(wal_.substr(0, size));
    EXPECT_EQ(damage(), std::nullopt) << size;
  }
}

TEST_F(WalCheckTest, CommitsThatWereNeverSyncedMayBeLost) {
  for (const std::size_t at : {kHeader + 40, wal_.size() / 2, wal_.size() - 1}) {
    std::string bytes = wal_;
    bytes[at] = static_cast<char>(bytes[at] ^ 4);
    put_wal(bytes);
    EXPECT_TRUE(damage(true).has_value());
    EXPECT_EQ(damage(false), std::nullopt);
  }
}

TEST_F(WalCheckTest, HeaderTornOverCheckpointedFramesIsNoDamage) {
  for (std::size_t at = 0; at < kHeader; ++at) {
    std::string bytes = wal_;
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    put_wal(bytes);
    EXPECT_TRUE(damage(false).has_value()) << "byte " << at;
  }
  // The same frames, once the database has their pages.
  put_wal(wal_);
  {
    const auto connection = must(sqlite::Connection::open(path(""), sqlite::Connection::Mode::read_write, 1000));
    must(connection->execute("PRAGMA wal_checkpoint(TRUNCATE)"));
  }
  const std::string torn = wal_.substr(0, 16) + std::string(16, '\0') + wal_.substr(kHeader);
  put_wal(torn);
  lose_index();
  EXPECT_EQ(damage(), std::nullopt);
}

TEST_F(WalCheckTest, ZeroedFrontIsDamage) {
  lose_index();
  put_wal(std::string(4096, '\0') + wal_.substr(4096));
  EXPECT_THAT(damage().value_or("none"), HasSubstr("the header is damaged"));
}

TEST_F(WalCheckTest, DamagedLogIsRefusedButForExaminationWhichLeavesTheEvidence) {
  std::string bytes = wal_;
  bytes[kHeader + last_commit() * kFrame + 100] ^= 1;
  put_wal(bytes);
  for (const auto access : {Store::Access::read, Store::Access::write}) {
    const auto opened = Store::open(directory_, access, {}, {});
    ASSERT_EQ(code(opened), "CORRUPT");
    EXPECT_THAT(opened.error().message(), HasSubstr("the write-ahead log is damaged: frame"));
  }
  for (int i = 0; i < 2; ++i) {
    const auto store = must(Store::open(directory_, Store::Access::examine, {}, {}));
    const VerifyReport report = must(verify(*store, {}, [](const VerifyProgress&) { return true; }));
    ASSERT_FALSE(report.findings.empty());
    EXPECT_EQ(report.findings[0].object, "weir.db-wal");
    EXPECT_THAT(report.findings[0].what, HasSubstr("acknowledged commits are lost: frame"));
    EXPECT_EQ(report.entries, 13u);
  }
  EXPECT_EQ(read_file(path("-wal")), bytes);
}

}  // namespace
}  // namespace weir
