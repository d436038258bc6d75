#include "base/unread.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <utility>

namespace weir {
namespace {

// Two ends of a connection, closed with the test.
struct Pair {
  int ours = -1, theirs = -1;
  ~Pair() {
    ::close(ours);
    ::close(theirs);
  }
};

void connect_over_tcp(Pair& out) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(::bind(listener, plain, size), 0);
  ASSERT_EQ(::listen(listener, 1), 0);
  ASSERT_EQ(::getsockname(listener, plain, &size), 0);
  out.theirs = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::connect(out.theirs, plain, size), 0);
  out.ours = ::accept(listener, nullptr, nullptr);
  ASSERT_GE(out.ours, 0);
  ::close(listener);
}

void connect_here(Pair& out) {
  int both[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both), 0);
  out.ours = both[0];
  out.theirs = both[1];
}

class PeerReadsTest : public ::testing::TestWithParam<void (*)(Pair&)> {};

TEST_P(PeerReadsTest, AllIsReadWhenTheOtherProgramHasTakenTheLastByte) {
  Pair pair;
  ASSERT_NO_FATAL_FAILURE(GetParam()(pair));
  PeerReads reads;
  const std::string sent(1000, 'x');
  ASSERT_EQ(::send(pair.ours, sent.data(), sent.size(), 0), static_cast<ssize_t>(sent.size()));
  EXPECT_EQ(reads.look(pair.ours, 1000), PeerRead::not_all);
  char taken[1000];
  ASSERT_EQ(::recv(pair.theirs, taken, 999, MSG_WAITALL), 999);
  EXPECT_EQ(reads.look(pair.ours, 1000), PeerRead::not_all);
  ASSERT_EQ(::recv(pair.theirs, taken, 1, 0), 1);
  EXPECT_EQ(reads.look(pair.ours, 1000), PeerRead::all);
}

INSTANTIATE_TEST_SUITE_P(Kinds, PeerReadsTest, ::testing::Values(connect_over_tcp, connect_here));

TEST_P(PeerReadsTest, WhoStopsSendingOrClosesNeedNotHaveReadAll) {
  char taken[1000];
  for (const bool closes : {false, true}) {
    for (const bool reads_all : {false, true}) {
      Pair pair;
      ASSERT_NO_FATAL_FAILURE(GetParam()(pair));
      PeerReads reads;
      const std::string sent(1000, 'x');
      ASSERT_EQ(::send(pair.ours, sent.data(), sent.size(), 0), static_cast<ssize_t>(sent.size()));
      ASSERT_EQ(::recv(pair.theirs, taken, reads_all ? 1000 : 999, MSG_WAITALL), reads_all ? 1000 : 999);
      if (closes) {
        ::close(std::exchange(pair.theirs, -1));
      } else {
        ::shutdown(pair.theirs, SHUT_WR);
      }
      EXPECT_EQ(reads.look(pair.ours, 1000) == PeerRead::all, reads_all) << closes;
    }
  }
}

TEST(UnreadBytesTest, WhatIsThrownAwayIsNotRead) {
  const int nothing = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  EXPECT_GT(unread_bytes(nothing), 0);
  ::close(nothing);
}

TEST(PeerReadsOfNobodyTest, NothingIsKnown) {
  PeerReads reads;
  EXPECT_EQ(reads.look(-1, 0), PeerRead::unknown);
}

}  // namespace
}  // namespace weir
