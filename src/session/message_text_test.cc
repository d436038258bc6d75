#include "session/message_text.h"

#include <gtest/gtest.h>

#include "base/sha256.h"
#include "json/parse.h"
#include "testing/results.h"

namespace weir {
namespace {

std::string hash(const std::string& content) {
  json::Parser parser;
  return content_sha256(testing::must(parser.parse(content))).value_or("none");
}

TEST(MessageTextTest, AStringIsItsText) {
  EXPECT_EQ(hash(R"("a\nb")"), sha256("a\nb").hex());
  EXPECT_EQ(hash(R"("")"), sha256("").hex());
}

TEST(MessageTextTest, TextBlocksAreJoinedWithoutASeparator) {
  EXPECT_EQ(hash(R"([{"text":"a","type":"text"},{"data":"x","type":"image"},{"text":"b","type":"text"}])"), sha256("ab").hex());
  EXPECT_EQ(hash(R"([{"text":"a","type":"text"}])"), sha256("a").hex());
  EXPECT_EQ(hash("[]"), sha256("").hex());
  EXPECT_EQ(hash(R"([{"text":"a","type":"thinking"},{"type":"text"},7,"s"])"), sha256("").hex());
}

TEST(MessageTextTest, ABlobIsTheTextItNames) {
  const std::string blob = R"({"$blob":"sha256:)" + sha256("large").hex() + R"(","bytes":5,"preview":"l"})";
  EXPECT_EQ(hash(blob), sha256("large").hex());
  EXPECT_EQ(hash(R"([{"text":)" + blob + R"(,"type":"text"}])"), sha256("large").hex());
  EXPECT_EQ(hash(R"([{"type":"image"},{"text":)" + blob + R"(,"type":"text"}])"), sha256("large").hex());
}

TEST(MessageTextTest, SeveralBlocksWithABlobAmongThemHaveNoHash) {
  const std::string blob = R"({"$blob":"sha256:)" + sha256("large").hex() + R"("})";
  EXPECT_EQ(hash(R"([{"text":)" + blob + R"(,"type":"text"},{"text":"","type":"text"}])"), "none");
  EXPECT_EQ(hash(R"([{"text":"a","type":"text"},{"text":)" + blob + R"(,"type":"text"}])"), "none");
}

TEST(MessageTextTest, WhatIsNoTextHasNoHash) {
  for (const char* content : {"7", "null", "{}", "true", R"({"$blob":"md5:00"})", R"([{"text":7,"type":"text"}])"})
    EXPECT_EQ(hash(content), "none") << content;
}

}  // namespace
}  // namespace weir
