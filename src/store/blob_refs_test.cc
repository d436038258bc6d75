#include "store/blob_refs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/parse.h"
#include "testing/results.h"

namespace weir {
namespace {

using testing::code;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::must;

const Digest kOnes = must(Digest::parse(std::string(64, '1'))), kTwos = must(Digest::parse(std::string(64, '2')));
const std::string kOne = "\"sha256:" + std::string(64, '1') + "\"", kTwo = "\"sha256:" + std::string(64, '2') + "\"";

std::vector<Digest> references(std::string_view type, const std::string& body) { return must(blob_references(type, body)); }

TEST(BlobReferencesTest, EveryBlobObjectCountsOnceAndInOrder) {
  EXPECT_THAT(references("message", R"({"content":"none"})"), IsEmpty());
  EXPECT_THAT(
      references("message", R"({"a":{"$blob":)" + kTwo + R"(},"b":[[{"$blob":)" + kOne + R"(,"bytes":1}]],"c":{"$blob":)" + kTwo + "}}"),
      ElementsAre(kOnes, kTwos));
  EXPECT_THAT(references("message", R"({"$blob":)" + kOne + R"(,"inner":{"$blob":)" + kTwo + "}}"), ElementsAre(kOnes, kTwos));
}

TEST(BlobReferencesTest, SomeTypesNameABlobInAMember) {
  EXPECT_THAT(references("SOURCE_REGISTERED", R"({"blob":)" + kOne + "}"), ElementsAre(kOnes));
  EXPECT_THAT(references("CHUNK_REGISTERED", R"({"blob":)" + kOne + R"(,"x":{"$blob":)" + kTwo + "}}"), ElementsAre(kOnes, kTwos));
  EXPECT_THAT(references("COMPACTION_FAILED", R"({"rejected":)" + kTwo + "}"), ElementsAre(kTwos));
  EXPECT_THAT(references("message", R"({"blob":)" + kOne + R"(,"rejected":)" + kTwo + "}"), IsEmpty());
  EXPECT_THAT(references("SOURCE_REGISTERED", R"({"nested":{"blob":)" + kOne + "}}"), IsEmpty());
}

TEST(BlobReferencesTest, WhatIsNoNameIsNoReference) {
  for (const std::string other : {R"("sha256:11")", R"("md5:1")", "7", "null", R"(["x"])"}) {
    EXPECT_THAT(references("message", R"({"$blob":)" + other + "}"), IsEmpty()) << other;
    EXPECT_THAT(references("SOURCE_REGISTERED", R"({"blob":)" + other + "}"), IsEmpty()) << other;
  }
  EXPECT_THAT(references("message", R"({"text":"\"$blob\":\"sha256:\""})"), IsEmpty());
}

TEST(BlobReferencesTest, BodyThatIsNoJsonIsCorruptWhereItHasToBeRead) {
  EXPECT_EQ(code(blob_references("message", R"({"$blob":)")), "CORRUPT");
  EXPECT_EQ(code(blob_references("SOURCE_REGISTERED", "{")), "CORRUPT");
}

TEST(BlobReferenceTest, ObjectIsAReferenceNoneOrWrong) {
  json::Parser parser;
  EXPECT_EQ(must(blob_reference(must(parser.parse(R"({"$blob":)" + kOne + "}")))), std::optional(kOnes));
  EXPECT_EQ(must(blob_reference(must(parser.parse("{}")))), std::nullopt);
  EXPECT_EQ(must(blob_reference(must(parser.parse("[1]")))), std::nullopt);
  for (const std::string bad : {R"({"$blob":1})", R"({"$blob":"sha256:1"})", R"({"$blob":null})"}) {
    EXPECT_EQ(code(blob_reference(must(parser.parse(bad)))), "INVALID_FIELD") << bad;
  }
}

}  // namespace
}  // namespace weir
