// Blobs whose file calls fail one after another, and what flush() promises.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "store/blobs.h"
#include "testing/doors.h"
#include "testing/fault_files.h"
#include "testing/results.h"
#include "testing/temp_dir.h"

namespace weir {
namespace {

using testing::code;
using testing::FaultFiles;
using testing::FileCall;
using testing::must;

// Files that do something right after a folder was synced.
class HookedFiles final : public FaultFiles {
 public:
  Result<void> sync_directory(const std::string& path) override {
    synced.push_back(path);
    TRY_DO(FaultFiles::sync_directory(path));
    if (after_sync) std::exchange(after_sync, nullptr)();
    return {};
  }
  std::vector<std::string> synced;
  std::function<void()> after_sync;
};

class BlobFlushTest : public ::testing::Test {
 protected:
  BlobFlushTest() : blobs_(make_file_blobs(dir_.path(), files_, random_)) {}

  std::string folder(const Digest& digest) { return dir_.path() + "/" + digest.hex().substr(0, 2); }
  // Other bytes whose blob goes to the same folder.
  std::string neighbour_of(const Digest& digest) {
    for (int i = 0;; ++i) {
      const std::string bytes = "neighbour " + std::to_string(i);
      if (folder(sha256(bytes)) == folder(digest)) return bytes;
    }
  }

  testing::TempDir dir_;
  HookedFiles files_;
  testing::SeededRandom random_{3};
  std::unique_ptr<Blobs> blobs_;
};

TEST_F(BlobFlushTest, SyncsTheFolderAndOnceTheFolderAboveIt) {
  const Digest one = must(blobs_->put("one"));
  EXPECT_THAT(files_.synced, ::testing::IsEmpty());
  must(blobs_->flush());
  EXPECT_THAT(files_.synced, ::testing::ElementsAre(dir_.path(), folder(one)));
  must(blobs_->flush());
  EXPECT_EQ(files_.synced.size(), 2u);
  must(blobs_->put(neighbour_of(one)));
  must(blobs_->flush());
  EXPECT_THAT(files_.synced, ::testing::ElementsAre(dir_.path(), folder(one), folder(one)));
}

TEST_F(BlobFlushTest, SyncsForABlobThatWasThereBecauseItsWriterMayNotHaveYet) {
  const Digest one = must(blobs_->put("one"));
  const auto another_process = make_file_blobs(dir_.path(), files_, random_);
  must(another_process->put("one"));
  must(another_process->flush());
  EXPECT_THAT(files_.synced, ::testing::ElementsAre(dir_.path(), folder(one)));
}

TEST_F(BlobFlushTest, SyncsTheFoldersNameBecauseItsMakerMayHaveDiedBeforeThat) {
  const Digest one = sha256("one");
  must(files_.make_directory(folder(one)));
  must(blobs_->put("one"));
  must(blobs_->flush());
  EXPECT_THAT(files_.synced, ::testing::ElementsAre(dir_.path(), folder(one)));
}

TEST_F(BlobFlushTest, SyncsForABlobThatIsReferredTo) {
  const Digest one = must(blobs_->put("one"));
  const auto another_process = make_file_blobs(dir_.path(), files_, random_);
  EXPECT_TRUE(must(another_process->refer(one)));
  EXPECT_FALSE(must(another_process->refer(sha256("two"))));
  must(another_process->flush());
  EXPECT_THAT(files_.synced, ::testing::ElementsAre(dir_.path(), folder(one)));
}

TEST_F(BlobFlushTest, SyncsForABlobThatIsOnlyReferredTo) {
  const Digest one = must(blobs_->put("one"));
  const auto another_process = make_file_blobs(dir_.path(), files_, random_);
  EXPECT_TRUE(must(another_process->refer(one)));
  EXPECT_FALSE(must(another_process->refer(sha256("nobody"))));
  must(another_process->flush());
  EXPECT_THAT(files_.synced, ::testing::ElementsAre(dir_.path(), folder(one)));
}

TEST_F(BlobFlushTest, BlobRenamedIntoAFolderWhileThatIsSyncedWaitsForItsOwnSync) {
  const Digest one = must(blobs_->put("one"));
  must(blobs_->flush());
  must(blobs_->put("one"));
  files_.synced.clear();
  files_.after_sync = [&] { must(blobs_->put(neighbour_of(one))); };
  must(blobs_->flush());
  EXPECT_THAT(files_.synced, ::testing::ElementsAre(folder(one)));
  must(blobs_->flush());
  EXPECT_THAT(files_.synced, ::testing::ElementsAre(folder(one), folder(one)));
}

TEST_F(BlobFlushTest, FailedFlushIsNotForgotten) {
  const Digest one = must(blobs_->put("one"));
  files_.fail(2, FaultFiles::Lasting::once, FileCall::sync_directory);
  EXPECT_EQ(code(blobs_->flush()), "STORAGE");
  files_.synced.clear();
  must(blobs_->flush());
  EXPECT_THAT(files_.synced, ::testing::ElementsAre(folder(one)));
}

// Call 1, 2, 3 ... fails: what was acknowledged before stays, what is refused is whole or absent, and trying again works.
void fail_every_call(FaultFiles::Lasting lasting) {
  for (std::uint64_t k = 1;; ++k) {
    SCOPED_TRACE("call " + std::to_string(k));
    const testing::TempDir dir;
    FaultFiles files;
    testing::SeededRandom random(k);
    const auto blobs = make_file_blobs(dir.path(), files, random);
    const Digest kept = must(blobs->put("kept"));
    must(blobs->flush());

    const std::string bytes(100000, 'n');
    const Digest digest = sha256(bytes);
    files.fail(k, lasting);
    auto put = blobs->put(bytes);
    const Result<void> stored = put.ok() ? blobs->flush() : Result<void>(put.error());
    files.work();
    EXPECT_EQ(must(blobs->get(kept)), "kept");
    if (!files.failed()) {
      EXPECT_EQ(must(blobs->get(digest)), bytes);
      EXPECT_GE(k, 6u);  // stat, stat, make_directory, write, rename, two syncs: they were all made to fail
      return;
    }
    const auto there = blobs->get(digest);
    if (stored.ok()) {
      EXPECT_EQ(code(there), "OK");
    } else {
      EXPECT_EQ(code(stored), "STORAGE");
      EXPECT_THAT(code(there), ::testing::AnyOf("OK", "NOT_FOUND"));
    }
    EXPECT_THAT(must(blobs->list()).strangers, ::testing::IsEmpty());
    EXPECT_LE(must(blobs->list()).temporary.size(), lasting == FaultFiles::Lasting::for_ever ? 1u : 0u);
    EXPECT_EQ(must(blobs->put(bytes)), digest);
    must(blobs->flush());
    EXPECT_EQ(must(blobs->get(digest)), bytes);
  }
}

TEST(BlobFaultTest, PutSurvivesAnyOneFailingCall) { fail_every_call(FaultFiles::Lasting::once); }
TEST(BlobFaultTest, PutSurvivesADiskThatFailsFromAnyCallOn) { fail_every_call(FaultFiles::Lasting::for_ever); }

}  // namespace
}  // namespace weir
