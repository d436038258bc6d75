#include "ctree/breadboard_read.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ctree/breadboard_text.h"
#include "testing/results.h"

namespace weir::breadboard {
namespace {

using testing::code;
using testing::detail;
using testing::must;

std::string again(std::string_view text) { return plain(must(read_json(text))); }

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(BreadboardReadTest, IntegersKeepEveryDigit) {
  EXPECT_EQ(again("123456789012345678901234567890"), "123456789012345678901234567890");
  EXPECT_EQ(again("-0"), "0");
  EXPECT_EQ(again("-7"), "-7");
  EXPECT_EQ(must(read_json("1")).kind(), Kind::integer);
  EXPECT_EQ(must(read_json("1.0")).kind(), Kind::real);
  EXPECT_EQ(must(read_json("1E0")).kind(), Kind::real);
  const std::string longest(4300, '9');
  EXPECT_EQ(again("-" + longest), "-" + longest);
  EXPECT_EQ(code(read_json(longest + "9")), "INVALID_JSON");
  EXPECT_EQ(again(longest + "9.0"), "Infinity");
}

TEST(BreadboardReadTest, DoublesOverflowToInfinityAndSinkToZero) {
  EXPECT_EQ(again("[1e400,-1e400,1e-400,-1e-400]"), "[Infinity,-Infinity,0.0,-0.0]");
  EXPECT_EQ(again("[1e99999999999999999999,1e-99999999999999999999,0e99999999999999999999]"), "[Infinity,0.0,0.0]");
  const std::string zeros(400, '0');
  EXPECT_EQ(again("[1" + zeros + "e-400,0." + zeros + "1e401,1" + zeros + ".5,0." + zeros + "1]"), "[1.0,1.0,Infinity,0.0]");
  EXPECT_EQ(again("[5e-324,2.4703282292062328e-324,2.4703282292062327e-324]"), "[5e-324,5e-324,0.0]");
}

TEST(BreadboardReadTest, NotANumberAndTheInfinitiesStandBare) {
  EXPECT_TRUE(std::isnan(must(read_json("NaN")).real()));
  EXPECT_EQ(again("[NaN,Infinity,-Infinity]"), "[NaN,Infinity,-Infinity]");
  EXPECT_EQ(code(read_json("-NaN")), "INVALID_JSON");
  EXPECT_EQ(code(read_json("+Infinity")), "INVALID_JSON");
}

TEST(BreadboardReadTest, TheLastOfEqualKeysWins) {
  EXPECT_EQ(again(R"({"a":1,"b":2,"\u0061":3})"), R"({"a":3,"b":2})");
  EXPECT_EQ(again(R"({"a":1,"a":[],"a":null})"), R"({"a":null})");
}

TEST(BreadboardReadTest, LoneSurrogatesAreKeptAndPairsJoined) {
  EXPECT_EQ(again(R"("\ud83d\ude00")"), again("\"\xF0\x9F\x98\x80\""));
  EXPECT_EQ(again(R"(["\ud800","\udc00\ud800","\ud800A","\ud800\u0041","\ud800\ud800\udc00"])"),
            R"(["\ud800","\udc00\ud800","\ud800A","\ud800A","\ud800\ud800\udc00"])");
  EXPECT_EQ(again(R"({"\udbff":1})"), R"({"\udbff":1})");
}

TEST(BreadboardReadTest, NestingEndsAt512) {
  EXPECT_EQ(again(nested(512)), nested(512));
  EXPECT_EQ(code(read_json(nested(513))), "INVALID_JSON");
  EXPECT_EQ(code(read_json(std::string(1000000, '['))), "INVALID_JSON");
}

TEST(BreadboardReadTest, WhatPythonRefusesIsRefused) {
  const std::string_view texts[] = {"",
                                    " ",
                                    "nul",
                                    "truex",
                                    "01",
                                    "-",
                                    "1.",
                                    ".5",
                                    "1e",
                                    "1e+",
                                    "+1",
                                    "0x1",
                                    "[1,]",
                                    "[,1]",
                                    "[1 2]",
                                    "{\"a\":1,}",
                                    "{'a':1}",
                                    "{\"a\"}",
                                    "{1:2}",
                                    "[1",
                                    "{\"a\":",
                                    "\"a",
                                    "\"\t\"",
                                    "\"\n\"",
                                    "\"\\x\"",
                                    "\"\\u12\"",
                                    "\"\\u-123\"",
                                    "\"\\u",
                                    "1 2",
                                    "//1",
                                    "\xEF\xBB\xBF[]",
                                    "\xC2\xA0[]",
                                    "\f1",
                                    "\"\xFF\"",
                                    "\"\xED\xA0\x80\"",
                                    "\"\xC3"};
  for (const std::string_view text : texts) EXPECT_EQ(code(read_json(text)), "INVALID_JSON") << text;
  EXPECT_EQ(code(read_json(std::string_view("\"\0\"", 3))), "INVALID_JSON");
  EXPECT_EQ(code(read_json(std::string_view("1\0", 2))), "INVALID_JSON");
}

TEST(BreadboardReadTest, AnErrorNamesItsPlace) {
  const auto result = read_json("{\n \"a\": ?}");
  EXPECT_EQ(detail(result.error(), "line"), "2");
  EXPECT_EQ(detail(result.error(), "column"), "7");
}

}  // namespace
}  // namespace weir::breadboard
