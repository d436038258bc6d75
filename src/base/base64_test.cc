#include "base/base64.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace weir {
namespace {

TEST(Base64Test, TheVectorsOfRfc4648HoldBothWays) {
  const std::pair<std::string, std::string> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"},
                                                         {std::string("\0\0", 2), "AAA="},
                                                         {"\xfb\xff\xbf", "+/+/"}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(encode_base64(bytes), text);
    EXPECT_EQ(decode_base64(text), bytes) << text;
  }
}

RC_GTEST_PROP(Base64Test, AnyBytesComeBack, (const std::string& bytes)) { RC_ASSERT(decode_base64(encode_base64(bytes)) == bytes); }

TEST(Base64Test, WhatNoEncoderWritesIsRefused) {
  const std::string bad[] = {"Z",        "Zg",           "Zg=",       "Zm9vY",        "====",
                             "Z===",     "=Zg=",         "Zg=a",      "Zg==Zg==",     "Zm=v",                   // length and padding
                             "Zm9*",     "Zm9-",         "Zm9_",      "Zm9\xc3",      std::string("Zm9\0", 4),  // other alphabets
                             " Zg==   ", "Zg==\n\n\n\n", "\nZm9vYmE", "Zm9v\r\n\r\n", "Zm9vZg==----",           // white space and end marks
                             "Zh==",     "Zm9="};                                                               // bits past the end
  for (const std::string& text : bad) EXPECT_EQ(decode_base64(text), std::nullopt) << text;
}

}  // namespace
}  // namespace weir
