#include "base/sandbox.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <thread>

#include "base/files.h"
#include "testing/temp_dir.h"

namespace weir {
namespace {

using testing::TempDir;

// What the function answers in a process of its own, which may give up what it likes. An exit code: less than 256.
int in_child(const std::function<int()>& what) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(what());
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << status;
  return WEXITSTATUS(status);
}

int open_error(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (fd >= 0) ::close(fd);
  return fd >= 0 ? 0 : errno;
}

bool confined(const Result<bool>& done) { return done.ok() && *done; }

class SandboxFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (sandbox_support().landlock == 0) GTEST_SKIP() << "this kernel has no Landlock";
    for (const char* name : {"roots", "store", "store/a", "store/b", "other"}) ASSERT_TRUE(files_.make_directory(dir_ / name).ok());
    for (const char* name : {"roots/file", "store/a/file", "other/file", "alone"}) ASSERT_TRUE(files_.write_synced(dir_ / name, "x").ok());
  }
  SandboxFiles plan() const { return {.read = {dir_ / "roots", dir_ / "alone", dir_ / "missing"}, .write = {dir_ / "store"}}; }
  // The errno of one act after the doors are shut.
  int shut_in(const std::function<int()>& act) {
    return in_child([&] { return confined(confine_files(plan())) ? act() : 255; });
  }

  TempDir dir_;
  Files& files_ = system_files();
};

TEST_F(SandboxFilesTest, RootsAreReadAndNotWritten) {
  EXPECT_EQ(shut_in([&] { return open_error(dir_ / "roots/file", O_RDONLY); }), 0);
  EXPECT_EQ(shut_in([&] { return open_error(dir_ / "roots", O_RDONLY | O_DIRECTORY); }), 0);
  EXPECT_EQ(shut_in([&] { return open_error(dir_ / "alone", O_RDONLY); }), 0);
  EXPECT_EQ(shut_in([&] { return open_error(dir_ / "roots/file", O_WRONLY); }), EACCES);
  EXPECT_EQ(shut_in([&] { return open_error(dir_ / "roots/new", O_WRONLY | O_CREAT); }), EACCES);
  EXPECT_EQ(shut_in([&] { return open_error(dir_ / "alone", O_WRONLY); }), EACCES);
}

TEST_F(SandboxFilesTest, NothingElseIsOpened) {
  EXPECT_EQ(shut_in([&] { return open_error(dir_ / "other/file", O_RDONLY); }), EACCES);
  EXPECT_EQ(shut_in([&] { return open_error("/etc/passwd", O_RDONLY); }), EACCES);
  EXPECT_EQ(shut_in([&] { return ::unlink((dir_ / "other/file").c_str()) == 0 ? 0 : errno; }), EACCES);
}

TEST_F(SandboxFilesTest, TheStoreTakesEverythingAStoreDoes) {
  EXPECT_EQ(shut_in([&] { return files_.write_synced(dir_ / "store/new", "x").ok() ? 0 : 1; }), 0);
  EXPECT_EQ(shut_in([&] { return files_.rename(dir_ / "store/a/file", dir_ / "store/b/file").ok() ? 0 : 1; }), 0);
  EXPECT_EQ(shut_in([&] { return ::truncate((dir_ / "store/b/file").c_str(), 0) == 0 ? 0 : errno; }), 0);
  EXPECT_EQ(shut_in([&] { return files_.make_directory(dir_ / "store/c").ok() && files_.sync_directory(dir_ / "store").ok() ? 0 : 1; }), 0);
  EXPECT_EQ(shut_in([&] { return files_.remove(dir_ / "store/c").ok() && files_.remove(dir_ / "store/new").ok() ? 0 : 1; }), 0);
  EXPECT_EQ(shut_in([&] { return files_.percent_full(dir_ / "store").ok() ? 0 : 1; }), 0);
}

TEST_F(SandboxFilesTest, WhatIsOpenStaysSoAndThreadsInheritTheRest) {
  const int fd = ::open((dir_ / "other/file").c_str(), O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(shut_in([&] {
              char c = 0;
              return ::read(fd, &c, 1) == 1 && c == 'x' ? 0 : 1;
            }),
            0);
  ::close(fd);
  EXPECT_EQ(shut_in([&] {
              int error = 0;
              std::thread([&] { error = open_error(dir_ / "other/file", O_RDONLY); }).join();
              return error;
            }),
            EACCES);
}

class SandboxCallsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!sandbox_support().seccomp) GTEST_SKIP() << "this kernel has no seccomp";
  }
};

TEST_F(SandboxCallsTest, NoProgramIsRunAndNoSocketMade) {
  EXPECT_EQ(in_child([] {
              if (!confined(confine_calls())) return 255;
              char name[] = "true";
              char* const words[] = {name, nullptr};
              ::execv("/bin/true", words);
              return errno;
            }),
            EPERM);
  EXPECT_EQ(in_child([] {
              if (!confined(confine_calls())) return 255;
              return ::socket(AF_UNIX, SOCK_STREAM, 0) < 0 ? errno : 0;
            }),
            EPERM);
}

TEST_F(SandboxCallsTest, AThreadThatWasThereAlreadyGivesUpTheSame) {
  EXPECT_EQ(in_child([] {
              const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
              int pipes[2], error = 0;
              if (fd < 0 || ::pipe(pipes) != 0) return 254;
              std::thread waiting([&] {
                char c;
                if (::read(pipes[0], &c, 1) != 1) return;
                sockaddr_in address{};
                address.sin_family = AF_INET;
                address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
                address.sin_port = htons(9);
                error = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
              });
              const bool shut = confined(confine_calls());
              if (::write(pipes[1], "x", 1) != 1) return 253;
              waiting.join();
              return shut ? error : 255;
            }),
            EPERM);
}

TEST_F(SandboxCallsTest, AListenerGoesOnTakingConnections) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener, 1), 0);
  ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::connect(client, reinterpret_cast<const sockaddr*>(&address), size), 0);
  EXPECT_EQ(in_child([&] {
              if (!confined(confine_calls())) return 255;
              const int taken = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
              return taken >= 0 && ::send(taken, "x", 1, MSG_NOSIGNAL) == 1 ? 0 : errno;
            }),
            0);
  char c = 0;
  EXPECT_EQ(::recv(client, &c, 1, 0), 1);
  ::close(client);
  ::close(listener);
}

}  // namespace
}  // namespace weir
