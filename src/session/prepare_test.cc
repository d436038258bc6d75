#include "session/prepare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/canonical.h"
#include "json/parse.h"
#include "testing/results.h"

namespace weir {
namespace {

using testing::code;
using testing::detail;
using ::testing::HasSubstr;
using testing::must;

class PrepareTest : public ::testing::Test {
 protected:
  json::Value value(const std::string& text) { return must(parser_.parse(text)); }
  Result<PreparedBody> prepare(const std::string& text, std::string_view type = "message") {
    Preparer preparer(Masker::standard(), blobs_.get());
    auto prepared = preparer.prepare(type, value(text), arena_);
    masked_ = preparer.masked();
    return prepared;
  }
  // The stored body with its blobs put back.
  std::string resolved(const PreparedBody& body) {
    json::Parser parser;
    return json::canonical(must(resolve_blobs(must(parser.parse(body.canonical)), *blobs_, arena_)));
  }
  std::size_t blob_count() { return must(blobs_->list()).objects.size(); }
  static std::string content(const std::string& text) { return R"({"content":")" + text + R"(","role":"tool"})"; }
  static std::string reference(const std::string& text) {
    return R"("$blob":"sha256:)" + sha256(text).hex() + R"(","bytes":)" + std::to_string(text.size());
  }

  json::Parser parser_;
  json::Arena arena_;
  std::unique_ptr<Blobs> blobs_ = make_memory_blobs();
  MaskCounts masked_;
};

TEST_F(PrepareTest, BodyBecomesCanonicalAndItsHashIsTheEntryDigests) {
  const PreparedBody body = must(prepare("{ \"role\" : \"user\", \"content\" : \"h\\u00e9llo\", \"n\": 1.0 }"));
  EXPECT_EQ(body.canonical, "{\"content\":\"h\xc3\xa9llo\",\"n\":1,\"role\":\"user\"}");
  EXPECT_FALSE(body.has_blobs);
  EXPECT_EQ(body.hash.finish(std::nullopt, "message"), entry_digest(std::nullopt, "message", body.canonical));
  EXPECT_EQ(masked_, MaskCounts{});
}

TEST_F(PrepareTest, StringOf65536BytesStays) {
  const std::string text(65536, 'x');
  const PreparedBody body = must(prepare(content(text)));
  EXPECT_EQ(body.canonical, content(text));
  EXPECT_FALSE(body.has_blobs);
  EXPECT_EQ(blob_count(), 0u);
}

TEST_F(PrepareTest, StringOf65537BytesBecomesABlobWithAPreviewOf256CodePoints) {
  const std::string text(65537, 'x');
  const PreparedBody body = must(prepare(content(text)));
  EXPECT_EQ(body.canonical, R"({"content":{)" + reference(text) + R"(,"preview":")" + std::string(256, 'x') + R"("},"role":"tool"})");
  EXPECT_TRUE(body.has_blobs);
  EXPECT_EQ(must(blobs_->get(sha256(text))), text);
  EXPECT_EQ(resolved(body), content(text));
}

TEST_F(PrepareTest, LengthIsCountedInBytesAndThePreviewInCodePoints) {
  std::string text;
  for (int i = 0; i < 32769; ++i) text += "\xc3\xa9";  // 65,538 bytes
  const PreparedBody body = must(prepare(content(text)));
  EXPECT_THAT(body.canonical, HasSubstr(R"("preview":")" + text.substr(0, 512) + R"("})"));
  EXPECT_THAT(body.canonical, HasSubstr(R"("bytes":65538,)"));
  EXPECT_FALSE(must(prepare(content(text.substr(0, 65536)))).has_blobs);
  EXPECT_EQ(resolved(body), content(text));
}

TEST_F(PrepareTest, LargeStringsLeaveWhereverTheyAre) {
  const std::string a(70000, 'a'), b(80000, 'b');
  const std::string text = R"({"content":[{"text":")" + a + R"(","type":"text"},{"deep":[[")" + b +
                           R"("]],"small":"s"}],"extra":{"again":")" + a + R"("},"role":"user"})";
  const PreparedBody body = must(prepare(text));
  EXPECT_LT(body.canonical.size(), 2000u);
  EXPECT_EQ(blob_count(), 2u);
  EXPECT_THAT(body.canonical, HasSubstr(R"("deep":[[{)" + reference(b)));
  EXPECT_THAT(body.canonical, HasSubstr(R"("small":"s")"));
  EXPECT_EQ(resolved(body), text);
}

TEST_F(PrepareTest, LargeKeyStaysAKey) {
  const std::string text = R"({")" + std::string(70000, 'k') + R"(":1})";
  EXPECT_EQ(must(prepare(text, "custom")).canonical, text);
}

TEST_F(PrepareTest, BodyOverOneMiBIsRefusedAndOneOfThatSizeIsNot) {
  // Sixteen strings that each stay; {"a":["...",...]} around them.
  const auto of_size = [](std::size_t bytes) {
    std::string text = R"({"a":[)";
    while (bytes - text.size() > 65000) text += "\"" + std::string(60000, 'x') + "\",";
    return text + "\"" + std::string(bytes - text.size() - 4, 'y') + "\"]}";
  };
  ASSERT_EQ(of_size(1048576).size(), 1048576u);
  EXPECT_EQ(must(prepare(of_size(1048576), "custom")).canonical.size(), 1048576u);
  const auto refused = prepare(of_size(1048577), "custom");
  ASSERT_EQ(code(refused), "LIMIT_EXCEEDED");
  EXPECT_EQ(detail(refused.error(), "name"), "bytes of an entry's body, once its large strings are blobs");
  EXPECT_EQ(detail(refused.error(), "limit"), "1048576");
  EXPECT_EQ(detail(refused.error(), "value"), "1048577");
  // Ten times as much is fine where it becomes blobs.
  EXPECT_EQ(code(prepare(content(std::string(10485760, 'z')))), "OK");
}

TEST_F(PrepareTest, ReplacementOver262144BytesBecomesABlobOfTheList) {
  const auto list_of = [](std::size_t bytes) {
    std::string text = "[";
    while (bytes - text.size() > 60000) text += R"({"content":")" + std::string(50000, 'm') + R"(","role":"user"},)";
    return text + R"({"content":")" + std::string(bytes - text.size() - 29, 'n') + R"(","role":"user"}])";
  };
  const auto compaction = [](const std::string& list) { return R"({"kept":["a"],"replacement":)" + list + R"(,"summary":"s"})"; };
  const std::string fits = list_of(262144), large = list_of(262145);
  ASSERT_EQ(fits.size(), 262144u);
  ASSERT_EQ(large.size(), 262145u);
  EXPECT_EQ(must(prepare(compaction(fits), "compaction")).canonical, compaction(fits));
  const PreparedBody body = must(prepare(compaction(large), "compaction"));
  EXPECT_EQ(body.canonical, R"({"kept":["a"],"replacement":{)" + reference(large) + R"(,"count":6},"summary":"s"})");
  EXPECT_TRUE(body.has_blobs);
  EXPECT_EQ(must(blobs_->get(sha256(large))), large);
  EXPECT_EQ(resolved(body), compaction(large));
  // Only a compaction has a replacement.
  EXPECT_EQ(must(prepare(compaction(large), "custom")).canonical, compaction(large));
}

TEST_F(PrepareTest, LargeReplacementIsOneBlobThatNamesNoOther) {
  const std::string big(70000, 'b'), small(60000, 's');
  std::string list = R"([{"content":")" + big + R"(","role":"user"})";
  for (int i = 0; i < 5; ++i) list += R"(,{"content":")" + small + R"(","role":"user"})";
  const std::string text = R"({"replacement":)" + list + "]}";
  const PreparedBody body = must(prepare(text, "compaction"));
  EXPECT_LT(body.canonical.size(), 200u);
  EXPECT_EQ(blob_count(), 1u);
  EXPECT_EQ(resolved(body), text);
}

TEST_F(PrepareTest, BlobTheCallerNamesMustBeStored) {
  const std::string stored = "stored", missing = "missing";
  must(blobs_->put(stored));
  const PreparedBody body = must(prepare(R"({"content":{)" + reference(stored) + R"(},"role":"user"})"));
  EXPECT_EQ(body.canonical, R"({"content":{)" + reference(stored) + R"(},"role":"user"})");
  EXPECT_TRUE(body.has_blobs);
  EXPECT_EQ(resolved(body), R"({"content":"stored","role":"user"})");
  const auto refused = prepare(R"({"content":[{"deep":{)" + reference(missing) + R"(}}],"role":"user"})");
  ASSERT_EQ(code(refused), "NOT_FOUND");
  EXPECT_EQ(detail(refused.error(), "object"), "sha256:" + sha256(missing).hex());
}

TEST_F(PrepareTest, MalformedBlobNamesAreRefused) {
  for (const std::string bad : {R"("sha256:00")", R"("sha256:ZZ")", R"("md5:00")", R"(7)", R"(null)", R"("")", R"({})"}) {
    EXPECT_EQ(code(prepare(R"({"content":{"$blob":)" + bad + "}}")), "INVALID_FIELD") << bad;
  }
  EXPECT_EQ(code(prepare(R"({"content":{"$blob":"sha256:)" + std::string(64, 'A') + R"("}})")), "INVALID_FIELD");
}

TEST_F(PrepareTest, SecretsAreMaskedBeforeAnythingIsHashedOrStored) {
  const std::string secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
  const std::string large = secret + " " + std::string(70000, 'x');
  const PreparedBody body = must(prepare(R"({"api_key":"abc","content":")" + large + R"(","name":")" + secret + R"(","role":"tool"})"));
  EXPECT_EQ(body.canonical.find(secret), std::string::npos);
  EXPECT_THAT(body.canonical, HasSubstr(R"("name":"***REDACTED***")"));
  EXPECT_THAT(body.canonical, HasSubstr(R"("api_key":"***REDACTED***")"));
  const std::string stored = "***REDACTED*** " + std::string(70000, 'x');
  EXPECT_THAT(body.canonical, HasSubstr(reference(stored)));
  EXPECT_EQ(must(blobs_->get(sha256(stored))), stored);
  EXPECT_FALSE(must(blobs_->has(sha256(large))));
  EXPECT_EQ(masked_, (MaskCounts{{"github_token", 2}, {"secret_key", 1}}));
}

// A message that carries a read: whoever folds it later cannot compare the text that arrived any more.
class PrepareReadTest : public PrepareTest {
 protected:
  static std::string secret() { return std::string("ghp_0123456789abcdef") + "ghijABCDEFGHIJ012345"; }
  static std::string message(const std::string& content, const std::string& recorded, const std::string& more = "") {
    return R"({"content":)" + content + R"(,"read":{"path":"/f","text_sha256":")" + sha256(recorded).hex() + R"("},"role":"tool")" + more +
           "}";
  }
  bool says_masked(const std::string& text, std::string_view type = "message") {
    return must(prepare(text, type)).canonical.find(R"("text_masked":true)") != std::string::npos;
  }
};

TEST_F(PrepareReadTest, TextThatMaskingAltersIsSaidToBeTheRecords) {
  const std::string text = "key " + secret();
  EXPECT_TRUE(says_masked(message('"' + text + '"', text)));
  EXPECT_TRUE(says_masked(message(R"([{"text":"key ","type":"text"},{"text":")" + secret() + R"(","type":"text"}])", text)));
  EXPECT_TRUE(says_masked(message('"' + text + '"', text, R"(,"text_masked":false)")));
  const std::string stored = must(prepare(message('"' + text + '"', text))).canonical;
  EXPECT_EQ(stored.find(secret()), std::string::npos);
  EXPECT_THAT(stored, HasSubstr(R"("text_sha256":")" + sha256(text).hex()));
}

TEST_F(PrepareReadTest, LargeTextIsComparedBeforeItIsABlob) {
  const std::string text = secret() + " " + std::string(70000, 'x');
  EXPECT_TRUE(says_masked(message('"' + text + '"', text)));
}

TEST_F(PrepareReadTest, NothingIsSaidOfTextThatWasNotTheRecordsOrIsStored) {
  EXPECT_FALSE(says_masked(message('"' + secret() + '"', "other")));
  EXPECT_FALSE(says_masked(message(R"("plain")", "plain")));
  // What was masked stands elsewhere.
  EXPECT_FALSE(says_masked(message(R"("plain")", "plain", R"(,"note":")" + secret() + '"')));
  EXPECT_FALSE(says_masked(R"({"content":")" + secret() + R"(","role":"tool"})"));
  EXPECT_FALSE(says_masked(message('"' + secret() + '"', secret()), "custom"));
}

TEST_F(PrepareReadTest, ARecordIsStoredAsItCame) {
  const std::string record =
      R"({"baseline":17,"bytes":17,"end":4,"mode":"full","path":"/repo/a.txt","reason":"no_base_hash","scope":"full","sent":17,"served":")" +
      sha256("x").hex() + R"(","shown":[[1,4]],"start":1,"text_sha256":")" + sha256("y").hex() + R"(","total_lines":4,"v":1})";
  EXPECT_EQ(must(prepare(record, "read")).canonical, record);
}

TEST_F(PrepareTest, StringThatIsShortEnoughOnceMaskedStays) {
  const std::string text = "ghp_" + std::string(65533, 'a');  // 65,537 bytes, one token
  const PreparedBody body = must(prepare(content(text)));
  EXPECT_EQ(body.canonical, content("***REDACTED***"));
  EXPECT_FALSE(body.has_blobs);
}

TEST_F(PrepareTest, DryRunNamesTheSameBlobsAndStoresNone) {
  const std::string text = content(std::string(70000, 'x'));
  Preparer dry(Masker::standard(), nullptr);
  const PreparedBody body = must(dry.prepare("message", value(text), arena_));
  EXPECT_EQ(blob_count(), 0u);
  EXPECT_EQ(must(prepare(text)).canonical, body.canonical);
}

TEST_F(PrepareTest, ResolvingSaysWhichBlobIsMissing) {
  const PreparedBody body = must(prepare(content(std::string(70000, 'x'))));
  must(blobs_->remove(sha256(std::string(70000, 'x'))));
  const auto missing = resolve_blobs(value(body.canonical), *blobs_, arena_);
  ASSERT_EQ(code(missing), "NOT_FOUND");
  EXPECT_EQ(detail(missing.error(), "object"), "sha256:" + sha256(std::string(70000, 'x')).hex());
}

}  // namespace
}  // namespace weir
