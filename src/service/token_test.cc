#include "service/token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "testing/temp_dir.h"

namespace weir {
namespace {

using testing::TempDir;
using testing::write_file;

class TokenTest : public ::testing::Test {
 protected:
  Result<std::string> load() { return load_token(files_, path_); }
  void expect_unusable(std::string_view part) {
    const auto token = load();
    ASSERT_FALSE(token.ok());
    EXPECT_EQ(info(token.error().code()).name, "STORE_UNUSABLE");
    EXPECT_THAT(token.error().message(), ::testing::HasSubstr(std::string(part)));
  }

  TempDir dir_;
  Files& files_ = system_files();
  Random& random_ = system_random();
  const std::string path_ = dir_ / "state/weir/token";
};

TEST_F(TokenTest, IsMadeOnceAndFoundAgain) {
  EXPECT_EQ(info(load().error().code()).name, "NOT_FOUND");
  const std::string made = *load_or_make_token(files_, random_, path_);
  EXPECT_THAT(made, ::testing::MatchesRegex("[A-Za-z0-9_-]{43}"));
  EXPECT_EQ(*load_or_make_token(files_, random_, path_), made);
  EXPECT_EQ(*load(), made);
  EXPECT_EQ(files_.stat(path_)->mode, 0600u);
  EXPECT_EQ(files_.stat(dir_ / "state/weir")->mode, 0700u);
}

TEST_F(TokenTest, RotatingReplacesItAndLeavesNothingElse) {
  const std::string first = *rotate_token(files_, random_, path_);
  const std::string second = *rotate_token(files_, random_, path_);
  EXPECT_NE(first, second);
  EXPECT_EQ(*load(), second);
  EXPECT_EQ(*files_.list(dir_ / "state/weir"), std::vector<std::string>{"token"});
}

TEST_F(TokenTest, RotatingWhereItCannotBeLeavesNothing) {
  std::filesystem::create_directories(path_ + "/in-the-way");
  EXPECT_FALSE(rotate_token(files_, random_, path_).ok());
  EXPECT_EQ(*files_.list(dir_ / "state/weir"), std::vector<std::string>{"token"});
}

TEST_F(TokenTest, OneThatOthersMayReadIsRefused) {
  const std::string token = *rotate_token(files_, random_, path_);
  for (const mode_t mode : {0640, 0604, 0620, 0602, 0601, 0777}) {
    ASSERT_EQ(::chmod(path_.c_str(), mode), 0);
    expect_unusable("others may know the token");
    EXPECT_THAT(load().error().message(), ::testing::Not(::testing::HasSubstr(token)));
  }
  ASSERT_EQ(::chmod(path_.c_str(), 0400), 0);
  EXPECT_EQ(*load(), token);
}

TEST_F(TokenTest, OneOfAnotherOwnerIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  ASSERT_TRUE(rotate_token(files_, random_, path_).ok());
  ASSERT_EQ(::chown(path_.c_str(), 12345, 12345), 0);
  expect_unusable("belongs to user 12345");
  EXPECT_FALSE(load_or_make_token(files_, random_, path_).ok());
}

TEST_F(TokenTest, WhatIsNoTokenIsRefused) {
  ASSERT_TRUE(rotate_token(files_, random_, path_).ok());
  const std::string good(43, 'A');
  for (const std::string& text : {std::string(), std::string("\n"), good.substr(1), good + "A", good.substr(1) + "=", good.substr(1) + "/",
                                  good + "\n\n", " " + good, good + "\r\n", std::string(1 << 20, 'A')}) {
    write_file(path_, text);
    expect_unusable("holds no token");
  }
  write_file(path_, good);
  EXPECT_EQ(*load(), good);
}

TEST_F(TokenTest, DoctorClosesWhatIsOpen) {
  ASSERT_EQ(examine_tokens(files_, path_, false).size(), 1u);
  EXPECT_TRUE(examine_tokens(files_, path_, false)[0].ok);  // none yet
  ASSERT_TRUE(rotate_token(files_, random_, read_token_file(path_)).ok());
  ASSERT_EQ(::chmod(read_token_file(path_).c_str(), 0644), 0);
  auto checks = examine_tokens(files_, path_, false);
  ASSERT_EQ(checks.size(), 2u);
  EXPECT_TRUE(checks[0].ok);
  EXPECT_FALSE(checks[1].ok);
  EXPECT_TRUE(examine_tokens(files_, path_, true)[1].ok);
  EXPECT_EQ(files_.stat(read_token_file(path_))->mode, 0600u);
  EXPECT_TRUE(examine_tokens(files_, path_, false)[1].ok);
}

}  // namespace
}  // namespace weir
