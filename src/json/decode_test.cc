#include "json/decode.h"

#include <gtest/gtest.h>

#include "base/ids.h"
#include "json/parse.h"

namespace weir {

void PrintTo(const FieldError& field, std::ostream* out) { *out << field.path << ": " << field.message; }

}  // namespace weir

namespace weir::json {
namespace {

using Fields = std::vector<FieldError>;

class DecodeTest : public ::testing::Test {
 protected:
  ObjectDecoder decoder(std::string_view text, std::string path = "") {
    return ObjectDecoder(value_ = *parser_.parse(text), std::move(path), errors_);
  }
  Fields fields() const {
    const auto result = errors_.result();
    return result.ok() ? Fields{} : result.error().fields();
  }

  Parser parser_;
  Value value_;
  FieldErrors errors_;
};

TEST_F(DecodeTest, RightFieldsComeOutAndLeaveNoError) {
  auto d = decoder(R"({"t":"x","i":5,"f":5.0,"b":true,"o":{"k":1},"a":[1],"n":null,"id":"main"})");
  EXPECT_EQ(d.text("t"), "x");
  EXPECT_EQ(d.integer("i", 0, 10), 5);
  EXPECT_EQ(d.integer("f", 0, 10), 5);
  EXPECT_EQ(d.boolean("b"), true);
  EXPECT_EQ(d.object("o")->find("k")->integer(), 1);
  EXPECT_EQ(d.array("a")->items().size(), 1u);
  EXPECT_EQ(d.any("n"), nullptr);
  EXPECT_EQ(d.name<HeadName>("id"), HeadName::trusted("main"));
  EXPECT_EQ(d.need_text("t"), "x");
  EXPECT_NE(d.need_object("o"), nullptr);
  EXPECT_NE(d.need_array("a"), nullptr);
  d.close();
  EXPECT_TRUE(errors_.empty());
  EXPECT_TRUE(errors_.result().ok());
}

TEST_F(DecodeTest, WhatIsAbsentOrNullGivesNothingAndNoError) {
  auto d = decoder(R"({"n":null})");
  for (const std::string_view key : {"n", "missing"}) {
    EXPECT_EQ(d.text(key), std::nullopt);
    EXPECT_EQ(d.integer(key, 0, 1), std::nullopt);
    EXPECT_EQ(d.boolean(key), std::nullopt);
    EXPECT_EQ(d.object(key), nullptr);
    EXPECT_EQ(d.array(key), nullptr);
    EXPECT_EQ(d.name<SessionId>(key), std::nullopt);
  }
  EXPECT_EQ(fields(), Fields{});
}

TEST_F(DecodeTest, EveryWrongFieldIsCollectedWithItsPointer) {
  auto d = decoder(R"({"t":1,"i":"5","b":"true","o":[],"a":{},"id":"a b","extra":1,"s/l~":2})", "/params/0");
  EXPECT_EQ(d.text("t"), std::nullopt);
  EXPECT_EQ(d.integer("i", 0, 10), std::nullopt);
  EXPECT_EQ(d.boolean("b"), std::nullopt);
  EXPECT_EQ(d.object("o"), nullptr);
  EXPECT_EQ(d.array("a"), nullptr);
  EXPECT_EQ(d.name<HeadName>("id"), std::nullopt);
  EXPECT_EQ(d.need_text("gone"), "");
  EXPECT_EQ(d.need_object("gone"), nullptr);
  EXPECT_EQ(d.need_array("gone"), nullptr);
  d.close();
  EXPECT_EQ(fields(), (Fields{{"/params/0/t", "must be a string, is an integer"},
                              {"/params/0/i", "must be an integer, is a string"},
                              {"/params/0/b", "must be true or false, is a string"},
                              {"/params/0/o", "must be an object, is an array"},
                              {"/params/0/a", "must be an array, is an object"},
                              {"/params/0/id", "a head name is a letter or digit, then at most 127 of A-Z a-z 0-9 . _ -, not 'a b'"},
                              {"/params/0/gone", "is missing"},
                              {"/params/0/gone", "is missing"},
                              {"/params/0/gone", "is missing"},
                              {"/params/0/extra", "is not a known field"},
                              {"/params/0/s~1l~0", "is not a known field"}}));
  const auto result = errors_.result();
  EXPECT_EQ(result.error().code(), ErrorCode::INVALID_FIELD);
  EXPECT_EQ(result.error().message(), "/params/0/t: must be a string, is an integer (and 10 more)");
}

TEST_F(DecodeTest, ANeededFieldOfTheWrongTypeIsOneErrorNotTwo) {
  auto d = decoder(R"({"t":1,"n":null})");
  EXPECT_EQ(d.need_text("t"), "");
  EXPECT_EQ(d.need_text("n"), "");
  EXPECT_EQ(fields(), (Fields{{"/t", "must be a string, is an integer"}, {"/n", "is missing"}}));
}

TEST_F(DecodeTest, AnIntegerIsWithinItsBoundsAndWhole) {
  auto d = decoder(
      R"({"low":-1,"high":11,"half":0.5,"huge":1e300,"minus":-1e300,"big":9223372036854775807,"text":"5","edge":9.2233720368547758e18})");
  for (const std::string_view key : {"low", "high", "half", "huge", "minus", "big", "text", "edge"})
    EXPECT_EQ(d.integer(key, 0, 10), std::nullopt) << key;
  EXPECT_EQ(fields(), (Fields{{"/low", "must be from 0 to 10, is -1"},
                              {"/high", "must be from 0 to 10, is 11"},
                              {"/half", "must be an integer, is a number"},
                              {"/huge", "must be from 0 to 10, is 1e+300"},
                              {"/minus", "must be from 0 to 10, is -1e+300"},
                              {"/big", "must be from 0 to 10, is 9223372036854775807"},
                              {"/text", "must be an integer, is a string"},
                              {"/edge", "must be from 0 to 10, is 9223372036854776000"}}));
}

TEST_F(DecodeTest, AnythingButAnObjectIsOneErrorAndEveryGetterStaysQuiet) {
  auto d = decoder("[1]", "/p");
  EXPECT_EQ(d.text("t"), std::nullopt);
  EXPECT_EQ(d.need_text("t"), "");
  EXPECT_EQ(d.need_object("o"), nullptr);
  d.close();
  EXPECT_EQ(fields(), (Fields{{"/p", "must be an object, is an array"}}));
}

TEST_F(DecodeTest, TheErrorOfTheWholeDocumentIsShownAtTheRoot) {
  decoder("7");
  EXPECT_EQ(errors_.result().error().message(), "/: must be an object, is an integer");
  EXPECT_EQ(fields(), (Fields{{"", "must be an object, is an integer"}}));
}

TEST(PointerTest, KeysAreEscapedAsRfc6901Says) {
  EXPECT_EQ(pointer("", "a"), "/a");
  EXPECT_EQ(pointer("/a", ""), "/a/");
  EXPECT_EQ(pointer("/a", "b/c~d"), "/a/b~1c~0d");
  EXPECT_EQ(pointer("", "~1"), "/~01");
}

}  // namespace
}  // namespace weir::json
