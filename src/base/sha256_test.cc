#include "base/sha256.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace weir {
namespace {

constexpr char kEmpty[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr char kAbc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST(Sha256Test, TheKnownVectorsHold) {
  EXPECT_EQ(sha256("").hex(), kEmpty);
  EXPECT_EQ(sha256("abc").hex(), kAbc);
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq").hex(),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1000000, 'a')).hex(), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256Test, TheHashStartsAgainAfterItsEnd) {
  Sha256 hash;
  EXPECT_EQ(hash.update("abc").finish().hex(), kAbc);
  EXPECT_EQ(hash.finish().hex(), kEmpty);
  EXPECT_EQ(hash.update("abc").finish().hex(), kAbc);
}

TEST(Sha256Test, CopyingARunningHashForksIt) {
  Sha256 stem;
  stem.update("ab");
  Sha256 copy(stem), assigned;
  assigned.update("something else");
  assigned = stem;
  copy.update("x");
  stem.update("c");
  EXPECT_EQ(stem.finish().hex(), kAbc);
  EXPECT_EQ(assigned.update("c").finish().hex(), kAbc);
  EXPECT_EQ(copy.finish(), sha256("abx"));
}

TEST(Sha256Test, MovingARunningHashTakesItAlong) {
  Sha256 from;
  from.update("ab");
  Sha256 to(std::move(from));
  EXPECT_EQ(to.update("c").finish().hex(), kAbc);
  Sha256 other;
  to.update("a");
  other = std::move(to);
  EXPECT_EQ(other.update("bc").finish().hex(), kAbc);
}

RC_GTEST_PROP(Sha256Test, ItDoesNotMatterHowTheBytesArriveInPieces, (const std::vector<std::string>& pieces)) {
  Sha256 hash;
  std::string all;
  for (const std::string& piece : pieces) {
    hash.update(piece);
    all += piece;
  }
  RC_ASSERT(hash.finish() == sha256(all));
}

TEST(DigestTest, ParsesItsOwnHexAndBytes) {
  const Digest abc = sha256("abc");
  EXPECT_EQ(*Digest::parse(kAbc), abc);
  EXPECT_EQ(*Digest::from_bytes(abc.bytes()), abc);
  EXPECT_EQ(abc.prefix64(), 0xba7816bf8f01cfeaU);
  EXPECT_EQ(Digest().hex(), std::string(64, '0'));
  EXPECT_LT(abc, sha256(""));
}

TEST(DigestTest, AnythingButSixtyFourLowerCaseDigitsIsRefused) {
  std::string upper(kAbc);
  upper[0] = 'B';
  for (const std::string& bad :
       {std::string(), std::string(63, 'a'), std::string(65, 'a'), std::string(62, 'a'), std::string(63, 'a') + "g", upper}) {
    const auto parsed = Digest::parse(bad);
    ASSERT_FALSE(parsed.ok()) << bad;
    EXPECT_EQ(parsed.error().code(), ErrorCode::INVALID_FIELD);
  }
  for (const std::size_t size : {0, 31, 33, 64}) {
    const auto parsed = Digest::from_bytes(std::string(size, 'a'));
    ASSERT_FALSE(parsed.ok()) << size;
    EXPECT_EQ(parsed.error().code(), ErrorCode::CORRUPT);
  }
}

// RFC 4231, cases 1, 2, 6.
TEST(HmacTest, TheVectorsOfTheRfcHold) {
  const auto hmac = [](std::string_view key, std::string_view text) {
    const HmacKey k(key);
    Sha256 hash = k.begin();
    hash.update(text);
    return k.finish(hash).hex();
  };
  EXPECT_EQ(hmac(std::string(20, '\x0b'), "Hi There"), "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hmac("Jefe", "what do ya want for nothing?"), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hmac(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

}  // namespace
}  // namespace weir
