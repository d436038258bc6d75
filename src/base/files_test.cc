#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "testing/temp_dir.h"

namespace weir {
namespace {

using testing::TempDir;

class Umask {
 public:
  explicit Umask(mode_t mask) : before_(::umask(mask)) {}
  ~Umask() { ::umask(before_); }

 private:
  mode_t before_;
};

template <typename T>
void expect_error(const Result<T>& result, ErrorCode code, int number) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(info(result.error().code()).name, info(code).name) << result.error().message();
  const auto& details = result.error().details();
  ASSERT_EQ(details.size(), 2u);
  EXPECT_EQ(details[0].first, "path");
  EXPECT_EQ(details[1], (std::pair<std::string, DetailValue>("errno", std::int64_t{number})));
}

class FilesTest : public ::testing::Test {
 protected:
  void write(const std::string& name, std::string_view bytes) { ASSERT_TRUE(files_.write_synced(dir_ / name, bytes).ok()); }

  TempDir dir_;
  Files& files_ = system_files();
};

TEST_F(FilesTest, FilesAre0600AndDirectories0700WhateverTheUmask) {
  for (const mode_t mask : {0000, 0022, 0077, 0777}) {
    const Umask umask(mask);
    const std::string name = std::to_string(mask);
    write("f" + name, "x");
    ASSERT_TRUE(files_.make_directory(dir_ / ("d" + name)).ok());
    ASSERT_TRUE(files_.make_directories(dir_ / ("e" + name + "/f/g")).ok());
    EXPECT_EQ(files_.stat(dir_ / ("f" + name))->mode, 0600u) << mask;
    for (const std::string& made : {"d" + name, "e" + name, "e" + name + "/f", "e" + name + "/f/g"})
      EXPECT_EQ(files_.stat(dir_ / made)->mode, 0700u) << made;
  }
}

TEST_F(FilesTest, WhatWasWrittenIsRead) {
  const std::string bytes = std::string("a\0b\n", 4) + std::string(200000, 'z');
  write("f", bytes);
  EXPECT_EQ(*files_.read(dir_ / "f", bytes.size()), bytes);
  write("empty", "");
  EXPECT_EQ(*files_.read(dir_ / "empty", 0), "");
}

TEST_F(FilesTest, WriteSyncedRefusesAFileThatIsThereAndLeavesIt) {
  write("f", "first");
  expect_error(files_.write_synced(dir_ / "f", "second"), ErrorCode::STORAGE, EEXIST);
  EXPECT_EQ(testing::read_file(dir_ / "f"), "first");
}

TEST_F(FilesTest, WriteSyncedDoesNotFollowALink) {
  ASSERT_EQ(::symlink((dir_ / "target").c_str(), (dir_ / "link").c_str()), 0);
  expect_error(files_.write_synced(dir_ / "link", "x"), ErrorCode::STORAGE, EEXIST);
  EXPECT_FALSE(files_.stat(dir_ / "target").ok());
}

TEST_F(FilesTest, AListIsSortedByBytesAndHasNoDots) {
  for (const char* name : {"b", "a", "B", "\xc3\xa4", ".hidden", "a1", "a10", "a2"}) write(name, "");
  EXPECT_EQ(*files_.list(dir_.path()), (std::vector<std::string>{".hidden", "B", "a", "a1", "a10", "a2", "b", "\xc3\xa4"}));
  ASSERT_TRUE(files_.make_directory(dir_ / "d").ok());
  EXPECT_TRUE(files_.list(dir_ / "d")->empty());
}

TEST_F(FilesTest, WhatIsNotThereIsNotFound) {
  write("f", "");
  const std::string missing = dir_ / "missing", below_file = dir_ / "f/x";
  for (const auto& [path, number] : {std::pair(missing, ENOENT), std::pair(below_file, ENOTDIR)}) {
    expect_error(files_.open(path), ErrorCode::NOT_FOUND, number);
    expect_error(files_.stat(path), ErrorCode::NOT_FOUND, number);
    expect_error(files_.list(path), ErrorCode::NOT_FOUND, number);
    expect_error(files_.read(path, 10), ErrorCode::NOT_FOUND, number);
    expect_error(files_.remove(path), ErrorCode::NOT_FOUND, number);
    expect_error(files_.rename(path, dir_ / "to"), ErrorCode::NOT_FOUND, number);
    expect_error(files_.change_mode(path, 0600), ErrorCode::NOT_FOUND, number);
    expect_error(files_.sync_directory(path), ErrorCode::NOT_FOUND, number);
    expect_error(files_.percent_full(path), ErrorCode::NOT_FOUND, number);
    expect_error(files_.write_synced(path + "/y", ""), ErrorCode::NOT_FOUND, number);
    expect_error(files_.make_directory(path + "/y"), ErrorCode::NOT_FOUND, number);
  }
  expect_error(files_.list(dir_ / "f"), ErrorCode::NOT_FOUND, ENOTDIR);
}

TEST_F(FilesTest, EverythingElseThatFailsIsStorage) {
  write("f", "");
  ASSERT_TRUE(files_.make_directories(dir_ / "d/e").ok());
  expect_error(files_.open(dir_ / "d"), ErrorCode::STORAGE, EISDIR);
  expect_error(files_.make_directory(dir_ / "f"), ErrorCode::STORAGE, EEXIST);
  expect_error(files_.remove(dir_ / "d"), ErrorCode::STORAGE, ENOTEMPTY);
  expect_error(files_.rename(dir_ / "f", dir_ / "d"), ErrorCode::STORAGE, EISDIR);
  expect_error(files_.stat(dir_ / std::string(300, 'x')), ErrorCode::STORAGE, ENAMETOOLONG);
}

TEST_F(FilesTest, TheMessageNamesThePathAndTheReason) {
  EXPECT_EQ(files_.open("no/such/file").error().message(), "cannot open 'no/such/file': No such file or directory");
}

TEST_F(FilesTest, ReadStopsAboveItsLimit) {
  write("f", std::string(100, 'x'));
  EXPECT_EQ(files_.read(dir_ / "f", 100)->size(), 100u);
  const auto refused = files_.read(dir_ / "f", 99);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::LIMIT_EXCEEDED);
}

TEST_F(FilesTest, AFileIsReadFromWhereItWasSought) {
  write("f", "0123456789");
  const auto file = files_.open(dir_ / "f");
  ASSERT_TRUE(file.ok());
  char buffer[4];
  ASSERT_TRUE((*file)->seek(7).ok());
  EXPECT_EQ(*(*file)->read(buffer, 4), 3u);
  EXPECT_EQ(std::string(buffer, 3), "789");
  EXPECT_EQ(*(*file)->read(buffer, 4), 0u);
  EXPECT_EQ((*file)->stat()->size, 10u);
}

TEST_F(FilesTest, StatTellsWhatAPathIsAndDoesNotFollowALink) {
  write("f", "abc");
  ASSERT_EQ(::symlink((dir_ / "f").c_str(), (dir_ / "link").c_str()), 0);
  EXPECT_EQ(files_.stat(dir_ / "f")->kind, FileStat::Kind::regular);
  EXPECT_EQ(files_.stat(dir_ / "f")->size, 3u);
  EXPECT_EQ(files_.stat(dir_ / "f")->uid, ::getuid());
  EXPECT_EQ(files_.stat(dir_.path())->kind, FileStat::Kind::directory);
  EXPECT_EQ(files_.stat(dir_ / "link")->kind, FileStat::Kind::other);
  EXPECT_NE(files_.stat(dir_ / "link")->inode, files_.stat(dir_ / "f")->inode);
}

TEST_F(FilesTest, AFifoNobodyWritesToDoesNotHang) {
  ASSERT_EQ(::mkfifo((dir_ / "fifo").c_str(), 0600), 0);
  const auto file = files_.open(dir_ / "fifo");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ((*file)->stat()->kind, FileStat::Kind::other);
}

TEST_F(FilesTest, MakingADirectoryThatIsThereChangesNothing) {
  ASSERT_TRUE(files_.make_directory(dir_ / "d").ok());
  ASSERT_TRUE(files_.change_mode(dir_ / "d", 0750).ok());
  EXPECT_TRUE(files_.make_directory(dir_ / "d").ok());
  EXPECT_TRUE(files_.make_directories(dir_ / "d/").ok());
  EXPECT_EQ(files_.stat(dir_ / "d")->mode, 0750u);
}

TEST_F(FilesTest, RenameReplacesAndRemoveRemoves) {
  write("a", "new");
  write("b", "old");
  ASSERT_TRUE(files_.rename(dir_ / "a", dir_ / "b").ok());
  ASSERT_TRUE(files_.sync_directory(dir_.path()).ok());
  EXPECT_EQ(testing::read_file(dir_ / "b"), "new");
  ASSERT_TRUE(files_.remove(dir_ / "b").ok());
  EXPECT_TRUE(files_.list(dir_.path())->empty());
}

TEST_F(FilesTest, AFileSystemIsAtMostFull) {
  const auto percent = files_.percent_full(dir_.path());
  ASSERT_TRUE(percent.ok());
  EXPECT_GE(*percent, 0);
  EXPECT_LE(*percent, 100);
}

}  // namespace
}  // namespace weir
