#include "base/unicode.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(UnicodeTest, NfdTakesCharactersApart) {
  EXPECT_EQ(to_nfd("\u00e9cran.png"), "e\u0301cran.png");
  EXPECT_EQ(to_nfd("\u1ea5"), "a\u0302\u0301");
  EXPECT_EQ(to_nfd("\uac01"), "\u1100\u1161\u11a8");
  EXPECT_EQ(to_nfd("plain"), "plain");
}

TEST(UnicodeTest, NamesThatLookAlikeFoldToOne) {
  EXPECT_EQ(fold_name("ID_RSA"), "id_rsa");
  EXPECT_EQ(fold_name("E\u0301cran"), fold_name("\u00c9CRAN"));
  EXPECT_EQ(fold_name("\u212aey"), "key");          // the Kelvin sign
  EXPECT_EQ(fold_name("\u017fecrets"), "secrets");  // the long s
}

TEST(UnicodeTest, WhatIsNotUtf8KeepsItsBytes) {
  EXPECT_EQ(to_nfd("\xff\u00e9"), "\xff\u00e9");
  EXPECT_EQ(fold_name("\xff.PEM"), "\xff.pem");
}

}  // namespace
}  // namespace weir
