#include "base/sha1.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(Sha1Test, TheKnownVectorsHold) {
  EXPECT_EQ(sha1_hex(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(sha1_hex("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
}

TEST(Sha1Test, CopyingARunningHashForksIt) {
  Sha1 stem;
  stem.update("ab");
  Sha1 fork = stem;
  EXPECT_EQ(fork.update("c").finish_hex(), sha1_hex("abc"));
  EXPECT_EQ(stem.finish_hex(), sha1_hex("ab"));
}

}  // namespace
}  // namespace weir
