#include "base/hex.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace weir {
namespace {

TEST(HexTest, EveryByteHasItsTwoLowerCaseDigits) {
  EXPECT_EQ(encode_hex(""), "");
  EXPECT_EQ(encode_hex(std::string("\x00\x01\x7f\x80\xab\xff", 6)), "00017f80abff");
}

RC_GTEST_PROP(HexTest, AnyBytesComeBack, (const std::string& bytes)) {
  std::string back(bytes.size(), '\0');
  RC_ASSERT(decode_hex(encode_hex(bytes), reinterpret_cast<unsigned char*>(back.data())));
  RC_ASSERT(back == bytes);
}

TEST(HexTest, OddLengthsUpperCaseAndOtherCharactersAreRefused) {
  unsigned char out[8];
  for (const std::string bad : {"0", "abc", "AB", "0g", "g0", "0x", " 0", "0 ", "\xc3\xa4", "a:", "a/", "a`"})
    EXPECT_FALSE(decode_hex(bad, out)) << bad;
}

}  // namespace
}  // namespace weir
