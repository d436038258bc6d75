#include "json/canonical.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <charconv>
#include <cmath>

#include "json/parse.h"

namespace weir::json {
namespace {

std::string number(double d) {
  std::string out;
  write_number(d, out);
  return out;
}

// The canonical text of a JSON text; "refused" if it is none.
std::string canonical_of(std::string_view text) {
  Parser parser;
  const auto value = parser.parse(text);
  return value.ok() ? canonical(*value) : "refused";
}

TEST(CanonicalNumberTest, TheVectorsOfRfc8785AppendixBHold) {
  const std::pair<std::uint64_t, std::string> vectors[] = {
      {0x0000000000000000, "0"},
      {0x8000000000000000, "0"},
      {0x0000000000000001, "5e-324"},
      {0x8000000000000001, "-5e-324"},
      {0x7fefffffffffffff, "1.7976931348623157e+308"},
      {0xffefffffffffffff, "-1.7976931348623157e+308"},
      {0x4340000000000000, "9007199254740992"},
      {0xc340000000000000, "-9007199254740992"},
      {0x4430000000000000, "295147905179352830000"},
      {0x44b52d02c7e14af5, "9.999999999999997e+22"},
      {0x44b52d02c7e14af6, "1e+23"},
      {0x44b52d02c7e14af7, "1.0000000000000001e+23"},
      {0x444b1ae4d6e2ef4e, "999999999999999700000"},
      {0x444b1ae4d6e2ef4f, "999999999999999900000"},
      {0x444b1ae4d6e2ef50, "1e+21"},
      {0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
      {0x3eb0c6f7a0b5ed8d, "0.000001"},
      {0x41b3de4355555553, "333333333.3333332"},
      {0x41b3de4355555554, "333333333.33333325"},
      {0x41b3de4355555555, "333333333.3333333"},
      {0x41b3de4355555556, "333333333.3333334"},
      {0x41b3de4355555557, "333333333.33333343"},
      {0xbecbf647612f3696, "-0.0000033333333333333333"},
      {0x43143ff3c1cb0959, "1424953923781206.2"},
  };
  for (const auto& [bits, text] : vectors) EXPECT_EQ(number(std::bit_cast<double>(bits)), text);
}

TEST(CanonicalNumberDeathTest, NanAndInfinityOfAppendixBAreABug) {
  EXPECT_DEATH(number(std::bit_cast<double>(std::uint64_t{0x7fffffffffffffff})), "isfinite");
  EXPECT_DEATH(number(std::bit_cast<double>(std::uint64_t{0x7ff0000000000000})), "isfinite");
}

RC_GTEST_PROP(CanonicalNumberTest, AnyDoubleComesBackFromItsText, (std::uint64_t bits)) {
  const double d = std::bit_cast<double>(bits);
  RC_PRE(std::isfinite(d));
  const std::string text = number(d);
  double back = 0;
  RC_ASSERT(std::from_chars(text.data(), text.data() + text.size(), back).ptr == text.data() + text.size());
  RC_ASSERT(back == d);
}

TEST(CanonicalTest, TheExampleOfRfc8785Section322Holds) {
  EXPECT_EQ(canonical_of(R"({
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
    "literals": [null, true, false]
  })"),
            "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],"
            "\"string\":\"\xe2\x82\xac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}");
}

TEST(CanonicalTest, TheSortingExampleOfRfc8785Section323Holds) {
  EXPECT_EQ(
      canonical_of(R"({"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One",
                             "\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"})"),
      "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\xc2\x80\":\"Control\",\"\xc3\xb6\":\"Latin Small Letter O With Diaeresis\","
      "\"\xe2\x82\xac\":\"Euro Sign\",\"\xf0\x9f\x98\x80\":\"Emoji: Grinning Face\",\"\xef\xac\xb3\":\"Hebrew Letter Dalet With Dagesh\"}");
}

TEST(CanonicalTest, TheOtherPublishedExamplesHold) {
  EXPECT_EQ(canonical_of(R"({"1":{"f":{"f":"hi","F":5},"\n":56.0},"10":{},"":"empty","a":{},"111":[{"e":"yes","E":"no"}],"A":{}})"),
            R"({"":"empty","1":{"\n":56,"f":{"F":5,"f":"hi"}},"10":{},"111":[{"E":"no","e":"yes"}],"A":{},"a":{}})");
  EXPECT_EQ(canonical_of("{\"peach\":1,\"p\xc3\xa9"
                         "ch\xc3\xa9\":2,\"p\xc3\xaa"
                         "che\":3,\"sin\":4}"),
            "{\"peach\":1,\"p\xc3\xa9"
            "ch\xc3\xa9\":2,\"p\xc3\xaa"
            "che\":3,\"sin\":4}");
  EXPECT_EQ(canonical_of("[56,{\"d\":true,\"10\":null,\"1\":[]}]"), "[56,{\"1\":[],\"10\":null,\"d\":true}]");
  EXPECT_EQ(canonical_of("{\"Unnormalized Unicode\":\"A\\u030a\"}"), "{\"Unnormalized Unicode\":\"A\xcc\x8a\"}");
}

TEST(CanonicalTest, OneNumberHasOneTextHoweverItWasWritten) {
  for (const std::string text : {"[1.0,1e0]", "[1,1]", "[1,1.00]", "[ 10e-1 , 0.1E+1 ]"}) EXPECT_EQ(canonical_of(text), "[1,1]");
  for (const std::string text : {"0", "-0", "0.0", "-0.0", "0e9", "-0E-9", "1e-400", "-1e-400"}) EXPECT_EQ(canonical_of(text), "0") << text;
  EXPECT_EQ(canonical_of("9007199254740991"), "9007199254740991");
  EXPECT_EQ(canonical_of("-9007199254740991.0"), "-9007199254740991");
}

TEST(CanonicalTest, AnIntegerTokenBeyondTheSafeOnesKeepsItsDigits) {
  for (const std::string text :
       {"9007199254740992", "9007199254740993", "-9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
        "-9223372036854775809", "18446744073709551615", "18446744073709551616", "1000000000000000000000000000000"}) {
    EXPECT_EQ(canonical_of(text), text);
  }
  // Another token of the same size is a double.
  EXPECT_EQ(canonical_of("9007199254740993.0"), "9007199254740992");
  EXPECT_EQ(canonical_of("1e30"), "1e+30");
}

TEST(CanonicalTest, AnIntegerHasAtMost4096Digits) {
  for (const std::string sign : {"", "-"}) {
    EXPECT_EQ(canonical_of(sign + std::string(4096, '7')), sign + std::string(4096, '7'));
    EXPECT_EQ(canonical_of(sign + std::string(4097, '7')), "refused");
  }
}

TEST(CanonicalStringTest, OnlyWhatMustBeEscapedIs) {
  std::string expected = "\"";
  std::string all;
  for (int c = 0; c < 0x80; ++c) {
    all += static_cast<char>(c);
    char buffer[8];
    std::snprintf(buffer, sizeof buffer, "\\u%04x", c);
    expected += c == '\b'   ? "\\b"
                : c == '\t' ? "\\t"
                : c == '\n' ? "\\n"
                : c == '\f' ? "\\f"
                : c == '\r' ? "\\r"
                : c == '"'  ? "\\\""
                : c == '\\' ? "\\\\"
                : c < 0x20  ? buffer
                            : std::string(1, static_cast<char>(c));
  }
  std::string out;
  write_string(all, out);
  EXPECT_EQ(out, expected + "\"");
}

TEST(CanonicalStringTest, AnEscapeIsFoundAtEveryPlaceOfALongString) {
  for (const std::string plain : {"a", "\xc3\xa4", "\xe2\x80\xa8", "\x7f", "!", "#", "["}) {
    std::string long_text;
    for (int i = 0; i < 24; ++i) long_text += plain;
    for (const auto& [raw, escaped] : {std::pair<std::string, std::string>{"\"", "\\\""},
                                       {"\\", "\\\\"},
                                       {"\n", "\\n"},
                                       {"\x1f", "\\u001f"},
                                       {std::string(1, '\0'), "\\u0000"}}) {
      for (std::size_t at = 0; at <= 24; ++at) {
        std::string text = long_text, expected = long_text, out;
        text.insert(at * plain.size(), raw);
        expected.insert(at * plain.size(), escaped);
        write_string(text, out);
        ASSERT_EQ(out, "\"" + expected + "\"");
      }
    }
  }
}

TEST(PrettyTest, IndentsByTwoAndKeepsTheOrder) {
  Parser parser;
  EXPECT_EQ(pretty(*parser.parse(R"({"b":[1,{"d":[]}],"a":{},"c":"x"})")),
            "{\n  \"a\": {},\n  \"b\": [\n    1,\n    {\n      \"d\": []\n    }\n  ],\n  \"c\": \"x\"\n}");
  EXPECT_EQ(pretty(Value("x")), "\"x\"");
}

TEST(CanonicalTest, RawTextIsPutInAsItIs) {
  Arena arena;
  EXPECT_EQ(canonical(make_object(arena, {{"z", 1}, {"a", Value::raw("{\"k\":[1,2]}")}})), "{\"a\":{\"k\":[1,2]},\"z\":1}");
}

}  // namespace
}  // namespace weir::json
