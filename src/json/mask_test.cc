#include "json/mask.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "json/canonical.h"
#include "json/parse.h"
#include "testing/secret_samples.h"

namespace weir::json {
namespace {

using testing::alnum;

const std::string kMark(kRedacted), kQuoted = "\"" + kMark + "\"", kToken = "ghp_" + alnum(36), kOther = "npm_" + alnum(36);

// The canonical text of a JSON text after masking. What comes out must be canonical JSON again, and masked for good.
std::string masked(const std::string& text, MaskCounts* found = nullptr, const Masker& masker = Masker::standard()) {
  Parser parser, again;
  Arena arena;
  MaskCounts counts, more;
  const std::string once = canonical(mask(parser.parse(text).value(), masker, arena, counts));
  const auto back = again.parse(once);
  EXPECT_EQ(back.ok() ? canonical(mask(*back, masker, arena, more)) : back.error().message(), once);
  EXPECT_TRUE(more.empty()) << once;
  if (found != nullptr) *found = counts;
  return once;
}

TEST(JsonMaskTest, SpansAreMaskedInStringsAtAnyDepth) {
  MaskCounts counts;
  EXPECT_EQ(masked("{\"a\":[1,{\"b\":\"use " + kToken + " now\"}],\"c\":\"" + kOther + "\"}", &counts),
            "{\"a\":[1,{\"b\":\"use " + kMark + " now\"}],\"c\":" + kQuoted + "}");
  EXPECT_EQ(counts, (MaskCounts{{"github_token", 1}, {"npm_token", 1}}));
}

TEST(JsonMaskTest, TheWholeValueUnderASecretKeyIsMasked) {
  MaskCounts counts;
  EXPECT_EQ(masked(R"({"password":"x","n":{"API-Key":["a",{"b":1}],"deep":[[{"Access_Token":5}]]},"cookie":{},"secret":""})", &counts),
            "{\"cookie\":" + kQuoted + ",\"n\":{\"API-Key\":" + kQuoted + ",\"deep\":[[{\"Access_Token\":" + kQuoted +
                "}]]},\"password\":" + kQuoted + ",\"secret\":" + kQuoted + "}");
  EXPECT_EQ(counts, (MaskCounts{{"secret_key", 5}}));
}

TEST(JsonMaskTest, NullTrueAndFalseUnderASecretKeyStay) {
  const std::string text = R"({"authorization":true,"password":null,"token":false})";
  EXPECT_EQ(masked(text), text);
  EXPECT_EQ(masked(R"({"token":0})"), "{\"token\":" + kQuoted + "}");
}

TEST(JsonMaskTest, KeysThatOnlyLookLikeSecretOnesDoNotHideTheirValues) {
  const std::string text = R"({"max_tokens":5,"token_count":7,"tokens":[1]})";
  EXPECT_EQ(masked(text), text);
}

TEST(JsonMaskTest, ASecretUnderASecretKeyIsCountedOnce) {
  MaskCounts counts;
  EXPECT_EQ(masked("{\"token\":\"" + kToken + "\"}", &counts), "{\"token\":" + kQuoted + "}");
  EXPECT_EQ(counts, (MaskCounts{{"secret_key", 1}}));
}

TEST(JsonMaskTest, AKeyThatHoldsASecretIsMaskedAndTheOrderIsRight) {
  EXPECT_EQ(masked("{\"a\":1,\"" + kToken + "\":2,\"z\":3}"), "{" + kQuoted + ":2,\"a\":1,\"z\":3}");
  EXPECT_EQ(masked("{\"z " + kToken + "\":{\"password\":\"x\"},\"a\":3}"), "{\"a\":3,\"z " + kMark + "\":{\"password\":" + kQuoted + "}}");
}

TEST(JsonMaskTest, KeysThatBecomeEqualAreToldApartInTheirOrder) {
  const std::string a = "ghp_" + std::string(36, 'a'), b = "ghp_" + std::string(36, 'b'), c = "ghp_" + std::string(36, 'c');
  EXPECT_EQ(masked("{\"" + c + "\":3,\"" + a + "\":1,\"" + b + "\":2}"), "{" + kQuoted + ":1,\"" + kMark + "~2\":2,\"" + kMark + "~3\":3}");
}

TEST(JsonMaskTest, AKeyTheSourceAlreadyHasIsNotTakenForAnother) {
  const std::string a = "ghp_" + std::string(36, 'a'), b = "ghp_" + std::string(36, 'b');
  EXPECT_EQ(masked("{\"" + a + "\":1,\"" + b + "\":2,\"" + kMark + "~2\":3}"),
            "{" + kQuoted + ":1,\"" + kMark + "~2\":3,\"" + kMark + "~3\":2}");
  EXPECT_EQ(masked("{" + kQuoted + ":0,\"" + a + "\":1,\"" + kMark + "~2\":3}"),
            "{" + kQuoted + ":0,\"" + kMark + "~2\":3,\"" + kMark + "~3\":1}");
  EXPECT_EQ(masked("{\"" + kMark + "~2\":0,\"" + a + "\":1,\"" + a + "~2\":2}"),
            "{" + kQuoted + ":1,\"" + kMark + "~2\":0,\"" + kMark + "~2~2\":2}");
}

TEST(JsonMaskTest, WhatHoldsNoSecretIsSharedNotCopied) {
  Parser parser;
  Arena arena;
  MaskCounts counts;
  const Value clean = *parser.parse(R"({"a":[1,"x"],"b":{"c":"y"}})");
  const Value same = mask(clean, Masker::standard(), arena, counts);
  EXPECT_EQ(same.members().data(), clean.members().data());
  EXPECT_TRUE(counts.empty());

  Parser other;
  const Value dirty = *other.parse("{\"a\":[1,\"x\"],\"b\":{\"c\":\"y\"},\"list\":[[2],\"" + kToken + "\"]}");
  const Value out = mask(dirty, Masker::standard(), arena, counts);
  EXPECT_NE(out.members().data(), dirty.members().data());
  EXPECT_EQ(out.find("a")->items().data(), dirty.find("a")->items().data());
  EXPECT_EQ(out.find("b")->members().data(), dirty.find("b")->members().data());
  EXPECT_EQ(out.find("list")->items()[0].items().data(), dirty.find("list")->items()[0].items().data());
  EXPECT_EQ(dirty.find("list")->items()[1].text(), kToken);
}

// A text that is JSON, holding a text that is JSON, and so on, as tool arguments do.
std::string nested(std::string text, int depth) {
  for (; depth > 0; --depth) text = "{\"a\": \"b\",\"text\":\"" + testing::json_quoted(text, 1) + "\", \"z\": [1,\"c2 d\"]}";
  return text;
}
std::string innermost(std::string text, int depth) {
  for (; depth > 0; --depth) {
    Parser parser;
    const auto value = parser.parse(text);
    if (!value.ok()) return "no JSON " + std::to_string(depth) + " deep: " + text;
    const Value* const inner = value->find("text");
    if (inner == nullptr || value->find("a") == nullptr || value->find("z") == nullptr) return "members are lost: " + text;
    text = std::string(inner->text());
  }
  return text;
}

// Masking the outermost text comes to the same as masking the innermost: nothing around a secret is lost.
TEST(JsonMaskTest, ATextThatIsJsonStaysJsonAtAnyDepth) {
  for (const testing::SecretSample& sample : testing::secret_samples()) {
    std::vector<std::string> texts = {sample.text(), sample.text() + "\" said \"x\""};
    for (const std::string& end : testing::word_ends()) {
      for (const bool behind : {false, true}) texts.push_back(sample.glued(end, behind));
    }
    for (const std::string& text : texts) {
      MaskCounts counts, more;
      // As it is masked where a quote stands before it.
      const std::string quoted = "\"" + text, plain = Masker::standard().mask(quoted, counts).value_or(quoted).substr(1);
      for (int depth = 1; depth <= 4; ++depth) {
        const std::string outer = nested(text, depth), once = Masker::standard().mask(outer, counts).value_or(outer);
        EXPECT_EQ(innermost(once, depth), plain) << sample.family << " " << depth << " deep: " << outer << "\n" << once;
        EXPECT_EQ(Masker::standard().mask(once, more), std::nullopt) << once;
      }
    }
  }
}

TEST(JsonMaskTest, NumbersAndLiteralsPassThrough) {
  for (const std::string text : {"1", "1.5", "123456789012345678901234567890", "null", "true", "[]", "{}", "\"\""})
    EXPECT_EQ(masked(text), text);
}

TEST(JsonMaskTest, ADisabledMaskerLeavesEverything) {
  const std::string text = "{\"" + kToken + "\":\"" + kToken + "\",\"password\":\"x\"}";
  EXPECT_EQ(masked(text, nullptr, *Masker::make({.enabled = false})), text);
}

TEST(JsonMaskTest, AUsersOwnKeysAreSecretToo) {
  EXPECT_EQ(masked(R"({"PIN":1,"pins":2})", nullptr, *Masker::make({.secret_keys = {"pin"}})), "{\"PIN\":" + kQuoted + ",\"pins\":2}");
}

Value random_value(Arena& arena, int depth) {
  static const std::vector<std::string> texts = {"a",          "b",    "token", "Pass-Word",   "list",        kMark,
                                                 kMark + "~2", kToken, kOther,  kToken + "~2", "x " + kOther, "1"};
  const int kind = *rc::gen::inRange(0, depth > 0 ? 5 : 3);
  if (kind == 0) return *rc::gen::elementOf(std::vector<int>{0, 1, 2}) == 0 ? Value() : Value(true);
  if (kind < 3) return Value(arena.copy(*rc::gen::elementOf(texts)));
  const int count = *rc::gen::inRange(0, 5);
  if (kind == 3) {
    std::vector<Value> items;
    for (int i = 0; i < count; ++i) items.push_back(random_value(arena, depth - 1));
    return make_array(arena, items);
  }
  ObjectBuilder object(arena);
  for (int i = 0; i < count; ++i) object.add(arena.copy(*rc::gen::elementOf(texts)), random_value(arena, depth - 1));
  return object.build();
}

RC_GTEST_PROP(JsonMaskTest, AnyValueIsMaskedOnceForAllAndStaysAValue, ()) {
  Arena arena;
  MaskCounts counts, more;
  const Value once = mask(random_value(arena, 3), Masker::standard(), arena, counts);
  Parser parser;
  const auto back = parser.parse(canonical(once));
  RC_ASSERT(back.ok());
  RC_ASSERT(canonical(*back) == canonical(once));
  RC_ASSERT(mask(once, Masker::standard(), arena, more) == once);
  RC_ASSERT(more.empty());
}

}  // namespace
}  // namespace weir::json
