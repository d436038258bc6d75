#include "json/parse.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "json/canonical.h"

namespace weir::json {
namespace {

struct Refusal {
  std::string text;
  std::string reason;
  std::int64_t line, column;
};

void expect_refused(const Result<Value>& result, const Refusal& refusal) {
  ASSERT_FALSE(result.ok()) << refusal.text;
  EXPECT_EQ(result.error().code(), ErrorCode::INVALID_JSON) << refusal.text;
  EXPECT_EQ(result.error().message(),
            refusal.reason + ", at line " + std::to_string(refusal.line) + " column " + std::to_string(refusal.column))
      << refusal.text;
  EXPECT_EQ(result.error().details(),
            (std::vector<std::pair<std::string, DetailValue>>{{"line", refusal.line}, {"column", refusal.column}}))
      << refusal.text;
}

TEST(ParseTest, WhatIsNoJsonIsRefusedWithReasonAndPlace) {
  const std::string nothing = "no JSON value begins like this", deep(65, '[');
  const Refusal table[] = {
      {"", "the text ends where a value should be", 1, 1},
      {" \n\t", "the text ends where a value should be", 2, 2},
      {"\xEF\xBB\xBF{}", "a byte order mark stands before the value", 1, 1},
      {"nul", nothing, 1, 1},
      {"True", nothing, 1, 1},
      {"NaN", nothing, 1, 1},
      {"Infinity", nothing, 1, 1},
      {"-Infinity", nothing, 1, 2},
      {"undefined", nothing, 1, 1},
      {"'a'", nothing, 1, 1},
      {"// a comment\n1", nothing, 1, 1},
      {"+1", nothing, 1, 1},
      {".5", nothing, 1, 1},
      {"-", nothing, 1, 2},
      {"01", "a number begins with 0", 1, 3},
      {"-00", "a number begins with 0", 1, 4},
      {"1.", "digits are missing after the point", 1, 3},
      {"1.e5", "digits are missing after the point", 1, 3},
      {"1e", "digits are missing in the exponent", 1, 3},
      {"1e+", "digits are missing in the exponent", 1, 4},
      {"0x10", "something follows the value", 1, 2},
      {"1 2", "something follows the value", 1, 3},
      {"{}\n{}", "something follows the value", 2, 1},
      {std::string("1\0", 2), "something follows the value", 1, 2},
      {"1e400", "no double holds this number", 1, 6},
      {"-1e400", "no double holds this number", 1, 7},
      {"1" + std::string(500, '0') + "e-100", "no double holds this number", 1, 507},
      {"0.0001e99999999999999999999", "no double holds this number", 1, 28},
      {"[1,]", nothing, 1, 4},
      {"[1 2]", "a comma or ] is missing", 1, 4},
      {"[\n1,\n2", "a comma or ] is missing", 3, 2},
      {"[", "the text ends where a value should be", 1, 2},
      {"{", "a key in quotes is missing", 1, 2},
      {"{a:1}", "a key in quotes is missing", 1, 2},
      {"{\"a\":1,}", "a key in quotes is missing", 1, 8},
      {"{\"a\" 1}", "a colon is missing after the key", 1, 6},
      {"{\"a\":1 \"b\":2}", "a comma or } is missing", 1, 8},
      {"{\"a\":\n1,\n\"a\":2}", "the key 'a' is there twice in one object", 3, 7},
      {"[{\"a\":{\"b\":1,\"\\u0062\":1}}]", "the key 'b' is there twice in one object", 1, 25},
      {"\"a", "a string does not end", 1, 3},
      {"\"a\\\"", "a string does not end", 1, 5},
      {"\"a\nb\"", "a control character stands bare in a string", 1, 3},
      {"\"\t\"", "a control character stands bare in a string", 1, 2},
      {"\"\\x41\"", "an escape JSON does not know", 1, 3},
      {"\"\\u12g4\"", "\\u needs four hex digits", 1, 4},
      {"\"\\u12", "\\u needs four hex digits", 1, 4},
      {"\"\\u-123\"", "\\u needs four hex digits", 1, 4},
      {"\"\\ud800\"", "a surrogate stands alone", 1, 8},
      {"\"\\udc00\"", "a surrogate stands alone", 1, 8},
      {"\"\\ud800\\u0041\"", "a surrogate stands alone", 1, 8},
      {"\"\\udc00\\ud800\"", "a surrogate stands alone", 1, 8},
      {"{\"\\ud800\":1}", "a surrogate stands alone", 1, 9},
      {"[\n\"\xff\"]", "the text is not UTF-8", 2, 2},
      {"\"\xc3\"", "the text is not UTF-8", 1, 2},
      {"\"\xed\xa0\x80\"", "the text is not UTF-8", 1, 2},
      {"\"\xc0\x80\"", "the text is not UTF-8", 1, 2},
      {"\xc2\xa0"
       "1",
       nothing, 1, 1},
      {deep + std::string(65, ']'), "nested deeper than 64 levels", 1, 65},
      {deep, "nested deeper than 64 levels", 1, 65},
  };
  for (const Refusal& refusal : table) {
    Parser parser;
    expect_refused(parser.parse(refusal.text), refusal);
    Arena arena;
    bool repaired = false;
    expect_refused(parse_exact(refusal.text, arena, {}, repaired), refusal);
  }
}

TEST(ParseTest, SixtyFourLevelsAreRead) {
  Parser parser;
  const std::string arrays = std::string(64, '[') + std::string(64, ']');
  EXPECT_EQ(canonical(*parser.parse(arrays)), arrays);
  std::string objects, closing;
  for (int i = 0; i < 63; ++i) {
    objects += "{\"a\":";
    closing += '}';
  }
  EXPECT_EQ(canonical(*parser.parse(objects + "[1]" + closing)), objects + "[1]" + closing);
  EXPECT_FALSE(parser.parse("{\"a\":" + objects + "[1]" + closing + "}").ok());
}

TEST(ParseTest, WhatIsStoredMayBeEightLevelsDeeper) {
  Parser parser;
  const auto nested = [](int levels) { return std::string(levels, '[') + std::string(levels, ']'); };
  EXPECT_EQ(canonical(*parser.parse_stored(nested(72))), nested(72));
  const auto refused = parser.parse_stored(nested(73));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message(), "nested deeper than 72 levels, at line 1 column 73");
}

TEST(ParseTest, AnErrorInALineOfAFileNamesTheColumnOnly) {
  Parser parser;
  const auto refused = parser.parse("[1,]", {.one_line = true});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message(), "no JSON value begins like this, at column 4");
}

TEST(ParseTest, MoreThan4096DigitsAreOverALimit) {
  Parser parser;
  const auto refused = parser.parse("[" + std::string(4097, '1') + "]");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::LIMIT_EXCEEDED);
  EXPECT_EQ(refused.error().message(), "digits of an integer is 4097, the limit is 4096");
}

TEST(ParseTest, KindsAreWhatTheTextSays) {
  Parser parser;
  const Value value = *parser.parse(R"([null,true,false,0,-9007199254740991,9007199254740992,1.5,1.0,"x",[],{}])");
  const Kind expected[] = {Kind::null, Kind::boolean, Kind::boolean, Kind::integer, Kind::integer, Kind::big_integer,
                           Kind::real, Kind::real,    Kind::string,  Kind::array,   Kind::object};
  ASSERT_EQ(value.items().size(), std::size(expected));
  for (std::size_t i = 0; i < std::size(expected); ++i) EXPECT_EQ(value.items()[i].kind(), expected[i]) << i;
  EXPECT_EQ(value.items()[4].integer(), -9007199254740991);
}

TEST(ParseTest, EveryEscapeIsUnderstood) {
  Parser parser;
  EXPECT_EQ(parser.parse(R"("\"\\\/\b\f\n\r\t\u0041\u00e4\u20AC\ud83d\uDE00\u0000")")->text(),
            std::string_view("\"\\/\b\f\n\r\tA\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\0", 19));
}

TEST(ParseTest, ANumberTooSmallForADoubleIsZero) {
  Parser parser;
  const std::string zeros(500, '0');
  for (const std::string& text :
       std::vector<std::string>{"1e-400", "0." + zeros + "1", "0." + zeros + "1e100", "123e-999999999999999999999", "-1e-400"}) {
    EXPECT_EQ(canonical(*parser.parse(text)), "0") << text;
  }
  EXPECT_EQ(canonical(*parser.parse("0." + zeros + "1e500")), "0.1");
  EXPECT_EQ(canonical(*parser.parse("1" + zeros + ".0e-500")), "1");
}

TEST(ParseRepairTest, ALoneSurrogateBecomesTheReplacementCharacterOnRequest) {
  const std::pair<std::string, std::string> table[] = {
      {R"("\ud800")", "\"\xef\xbf\xbd\""},
      {R"("a\udc00b")",
       "\"a\xef\xbf\xbd"
       "b\""},
      {R"("\ud800\u0041")",
       "\"\xef\xbf\xbd"
       "A\""},
      {R"("\ud800\ud800\udc00")", "\"\xef\xbf\xbd\xf0\x90\x80\x80\""},
      {R"({"\udfff":1})", "{\"\xef\xbf\xbd\":1}"},
  };
  for (const auto& [text, expected] : table) {
    Parser parser;
    const auto value = parser.parse(text, {.repair_surrogates = true});
    ASSERT_TRUE(value.ok()) << text;
    EXPECT_EQ(canonical(*value), expected) << text;
    EXPECT_TRUE(parser.repaired()) << text;
  }
}

TEST(ParseRepairTest, NothingElseIsRepairedAndWholePairsAreNone) {
  Parser parser;
  EXPECT_TRUE(parser.parse(R"("\ud83d\ude00")", {.repair_surrogates = true}).ok());
  EXPECT_FALSE(parser.repaired());
  for (const std::string bad : {"\"\xed\xa0\x80\"", "\"\\ud800\\uzzzz\"", "\"\\ud800", "{\"\\ud800\":1,\"\\ud801\":1}", "[\"\\ud800\",]"}) {
    EXPECT_FALSE(parser.parse(bad, {.repair_surrogates = true}).ok()) << bad;
  }
  EXPECT_TRUE(parser.parse("1", {.repair_surrogates = true}).ok());
  EXPECT_FALSE(parser.repaired());
}

TEST(ParseTest, AParserIsUsedAgainAndMoved) {
  Parser parser;
  for (int i = 0; i < 100; ++i) {
    const std::string text = "[" + std::to_string(i) + ",\"" + std::string(static_cast<std::size_t>(i) * 50, 'x') + "\"]";
    EXPECT_EQ(canonical(*parser.parse(text)), text);
  }
  Parser other = std::move(parser);
  EXPECT_EQ(canonical(*other.parse("[1]")), "[1]");
}

TEST(ParseTest, ManyMembersAreSortedAndADuplicateAmongThemIsSeen) {
  std::string text = "{";
  for (int i = 0; i < 1000; ++i) text += "\"k" + std::to_string(i * 7919 % 1000) + "\":" + std::to_string(i) + ",";
  Parser parser;
  const auto value = parser.parse(text + "\"z\":0}");
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(value->members().size(), 1001u);
  EXPECT_TRUE(
      std::is_sorted(value->members().begin(), value->members().end(), [](const Member& a, const Member& b) { return a.key < b.key; }));
  EXPECT_FALSE(parser.parse(text + "\"k500\":0}").ok());
}

TEST(ParseTest, TheReasonIsPrintableWhateverTheKey) {
  Parser parser;
  std::string key = "\\u001b";
  for (int i = 0; i < 100; ++i) key += "\xc3\xa4";
  const std::string message = parser.parse("{\"" + key + "\":1,\"" + key + "\":2}").error().message();
  EXPECT_EQ(message.substr(0, 17), "the key '\\x1b\xc3\xa4\xc3\xa4");
  EXPECT_NE(message.find("\xc3\xa4' is there twice"), std::string::npos);
}

}  // namespace
}  // namespace weir::json
