#include "store/blobs.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/limits.h"
#include "store/zstd.h"
#include "testing/doors.h"
#include "testing/fault_files.h"
#include "testing/results.h"
#include "testing/temp_dir.h"

namespace weir {
namespace {

using testing::code;
using testing::detail;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::must;
using testing::read_file;
using testing::write_file;

constexpr const char* kHello = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";  // sha256sum of "hello"
constexpr std::int64_t kHourMs = 3600000;

class BlobsTest : public ::testing::Test {
 protected:
  BlobsTest() : blobs_(make_file_blobs(objects_, files_, random_)) { must(files_.make_directory(objects_)); }

  std::string path(const Digest& digest) const { return objects_ + "/" + digest.hex().substr(0, 2) + "/" + digest.hex().substr(2); }
  unsigned mode(const std::string& path) { return must(system_files().stat(path)).mode; }
  void age(const std::string& path, std::int64_t modified_ms) {
    const timespec times[2] = {{modified_ms / 1000, modified_ms % 1000 * 1000000}, {modified_ms / 1000, modified_ms % 1000 * 1000000}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }

  testing::TempDir dir_;
  const std::string objects_ = dir_ / "objects";
  testing::FaultFiles files_;
  testing::SeededRandom random_{7};
  std::unique_ptr<Blobs> blobs_;
};

TEST_F(BlobsTest, BytesComeBackUnderTheirSha256) {
  testing::SeededRandom noise(1);
  std::string random_bytes;
  for (int i = 0; i < 20000; ++i) random_bytes += static_cast<char>(noise.next());
  EXPECT_EQ(must(blobs_->put("hello")).hex(), kHello);
  for (const std::string& bytes : {std::string("hello"), std::string(), std::string("a\0b", 3), std::string(1 << 20, 'x'), random_bytes}) {
    const Digest digest = must(blobs_->put(bytes));
    EXPECT_EQ(digest, sha256(bytes));
    EXPECT_TRUE(must(blobs_->has(digest)));
    EXPECT_EQ(must(blobs_->get(digest)), bytes);
  }
}

TEST_F(BlobsTest, MemoryBlobsSayTheSame) {
  const auto blobs = make_memory_blobs();
  const Digest digest = must(blobs->put("hello"));
  EXPECT_EQ(digest.hex(), kHello);
  EXPECT_EQ(must(blobs->get(digest)), "hello");
  EXPECT_EQ(blobs->stored_bytes(digest), 5u);
  EXPECT_THAT(must(blobs->list()).objects, ElementsAre(digest));
  must(blobs->remove(digest));
  EXPECT_FALSE(must(blobs->has(digest)));
  const auto gone = blobs->get(digest);
  ASSERT_EQ(code(gone), "NOT_FOUND");
  EXPECT_EQ(detail(gone.error(), "object"), std::string("sha256:") + kHello);
}

TEST_F(BlobsTest, ObjectsAre0600InDirectoriesOf0700WhateverTheUmask) {
  for (const mode_t mask : {mode_t{0}, mode_t{022}, mode_t{0777}}) {
    const mode_t before = ::umask(mask);
    const Digest digest = must(blobs_->put("mode " + std::to_string(mask)));
    ::umask(before);
    EXPECT_EQ(mode(path(digest)), 0600u) << mask;
    EXPECT_EQ(mode(std::filesystem::path(path(digest)).parent_path()), 0700u) << mask;
  }
}

TEST_F(BlobsTest, TheSameBytesAreWrittenOnceAndCompressed) {
  const Digest digest = must(blobs_->put(std::string(1 << 20, 'z')));
  files_.fail(1, testing::FaultFiles::Lasting::for_ever, testing::FileCall::write_synced);
  EXPECT_EQ(must(blobs_->put(std::string(1 << 20, 'z'))), digest);
  EXPECT_FALSE(files_.failed());
  EXPECT_THAT(must(blobs_->list()).objects, ElementsAre(digest));
  EXPECT_EQ(blobs_->stored_bytes(digest), read_file(path(digest)).size());
  EXPECT_LT(blobs_->stored_bytes(digest), 1000u);
  EXPECT_EQ(blobs_->stored_bytes(sha256("nobody")), 0u);
}

TEST_F(BlobsTest, MissingBlobIsNotFound) {
  const Digest digest = must(blobs_->put("hello"));
  must(blobs_->remove(digest));
  EXPECT_FALSE(must(blobs_->has(digest)));
  const auto gone = blobs_->get(digest);
  ASSERT_EQ(code(gone), "NOT_FOUND");
  EXPECT_EQ(gone.error().message(), std::string("no blob sha256:") + kHello);
  EXPECT_EQ(detail(gone.error(), "object"), std::string("sha256:") + kHello);
}

TEST_F(BlobsTest, FileCutShortAnywhereIsCorrupt) {
  const Digest digest = must(blobs_->put("a text of some length, with some length of text"));
  const std::string frame = read_file(path(digest));
  for (std::size_t size = 0; size < frame.size(); ++size) {
    write_file(path(digest), frame.substr(0, size));
    const auto cut = blobs_->get(digest);
    ASSERT_EQ(code(cut), "CORRUPT") << size;
    EXPECT_EQ(detail(cut.error(), "object"), "sha256:" + digest.hex());
  }
  write_file(path(digest), frame + "x");
  EXPECT_EQ(code(blobs_->get(digest)), "CORRUPT");
}

TEST_F(BlobsTest, FlippedBitAnywhereIsNeverData) {
  const std::string bytes = "a text of some length, with some length of text";
  const Digest digest = must(blobs_->put(bytes));
  const std::string frame = read_file(path(digest));
  int corrupt = 0;
  for (std::size_t bit = 0; bit < frame.size() * 8; ++bit) {
    std::string damaged = frame;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    write_file(path(digest), damaged);
    const auto got = blobs_->get(digest);
    if (got.ok()) {
      EXPECT_EQ(*got, bytes) << bit;  // a bit that zstd does not use
    } else {
      EXPECT_EQ(code(got), "CORRUPT") << bit;
      ++corrupt;
    }
  }
  EXPECT_GT(corrupt, static_cast<int>(frame.size() * 8 * 9 / 10));
}

TEST_F(BlobsTest, AnotherBlobsFileUnderThisNameIsCorrupt) {
  const Digest digest = must(blobs_->put("one")), other = must(blobs_->put("two"));
  write_file(path(digest), read_file(path(other)));
  const auto got = blobs_->get(digest);
  ASSERT_EQ(code(got), "CORRUPT");
  EXPECT_EQ(got.error().message(), "blob sha256:" + digest.hex() + " is damaged: its bytes have another hash");
}

TEST_F(BlobsTest, MoreThan256MiBIsRefusedBothWays) {
  const std::string huge(limits::kBlobBytes + 1, '\0');
  const auto refused = blobs_->put(huge);
  ASSERT_EQ(code(refused), "LIMIT_EXCEEDED");
  EXPECT_EQ(detail(refused.error(), "limit"), "268435456");
  EXPECT_EQ(detail(refused.error(), "value"), "268435457");
  // A file that would grow beyond it is damage, found before anything grows.
  const Digest digest = must(blobs_->put("small"));
  write_file(path(digest), zstd_compress(huge));
  const auto bomb = blobs_->get(digest);
  ASSERT_EQ(code(bomb), "CORRUPT");
  EXPECT_THAT(bomb.error().message(), ::testing::HasSubstr("decompressed bytes is 268435457, the limit is 268435456"));
}

TEST_F(BlobsTest, ListTellsObjectsStrangersAndTemporaryFilesApart) {
  const Digest one = must(blobs_->put("one")), two = must(blobs_->put("two"));
  write_file(objects_ + "/tmp-0123", "half");
  write_file(objects_ + "/README", "hello");
  must(files_.make_directory(objects_ + "/abc"));
  must(files_.make_directory(objects_ + "/zz"));
  write_file(objects_ + "/zz/" + one.hex().substr(2), "no hex");
  write_file(path(one) + "0", "too long");
  const Blobs::Listed listed = must(blobs_->list());
  EXPECT_THAT(listed.objects, ::testing::UnorderedElementsAre(one, two));
  EXPECT_TRUE(std::is_sorted(listed.objects.begin(), listed.objects.end()));
  EXPECT_THAT(listed.temporary, ElementsAre(objects_ + "/tmp-0123"));
  EXPECT_THAT(listed.strangers, ::testing::UnorderedElementsAre(objects_ + "/README", objects_ + "/abc",
                                                                objects_ + "/zz/" + one.hex().substr(2), path(one) + "0"));
}

TEST_F(BlobsTest, FolderThatCannotBeListedIsAnErrorAndNoStranger) {
  must(blobs_->put("one"));
  files_.fail(2, testing::FaultFiles::Lasting::once, testing::FileCall::list);
  EXPECT_EQ(code(blobs_->list()), "STORAGE");
}

TEST_F(BlobsTest, NoObjectsDirectoryListsNothing) {
  const auto blobs = make_file_blobs(dir_ / "nowhere", files_, random_);
  EXPECT_THAT(must(blobs->list()).objects, IsEmpty());
  EXPECT_EQ(must(blobs->remove_old_temporary(TimeMs{0})), 0u);
}

TEST_F(BlobsTest, TemporaryFilesGoWhenTheyAreAnHourOld) {
  const Digest object = must(blobs_->put("kept"));
  testing::FixedClock clock(1700000000000);
  const std::int64_t now = clock.now().ms;
  age(path(object), now - 10 * kHourMs);
  for (const auto& [name, modified] : std::map<std::string, std::int64_t>{
           {"tmp-old", now - 2 * kHourMs}, {"tmp-hour", now - kHourMs}, {"tmp-young", now - kHourMs + 1}, {"tmp-ahead", now + kHourMs}}) {
    write_file(objects_ + "/" + name, "half");
    age(objects_ + "/" + name, modified);
  }
  EXPECT_EQ(must(blobs_->remove_old_temporary(clock.now())), 2u);
  EXPECT_THAT(must(blobs_->list()).temporary, ElementsAre(objects_ + "/tmp-ahead", objects_ + "/tmp-young"));
  EXPECT_EQ(must(blobs_->get(object)), "kept");
  // A clock that was set back removes nothing.
  clock.set(now - 100 * kHourMs);
  EXPECT_EQ(must(blobs_->remove_old_temporary(clock.now())), 0u);
}

}  // namespace
}  // namespace weir
