#include "ctree/breadboard_text.h"

#include <gtest/gtest.h>

#include <limits>

#include "ctree/breadboard_read.h"
#include "testing/results.h"

namespace weir::breadboard {
namespace {

using testing::must;

std::string canonical_of(std::string_view text) { return canonical(must(read_json(text))); }

TEST(BreadboardTextTest, NumbersAreWrittenAsPythonWritesThem) {
  const std::pair<double, std::string> texts[] = {{1.0, "1.0"},
                                                  {-0.0, "-0.0"},
                                                  {0.0001, "0.0001"},
                                                  {0.00012345, "0.00012345"},
                                                  {1e-5, "1e-05"},
                                                  {1.5e-7, "1.5e-07"},
                                                  {1e15, "1000000000000000.0"},
                                                  {1e16, "1e+16"},
                                                  {123456789012345678.0, "1.2345678901234568e+17"},
                                                  {1234567890123456.0, "1234567890123456.0"},
                                                  {12.5, "12.5"},
                                                  {1e100, "1e+100"},
                                                  {5e-324, "5e-324"},
                                                  {1.7976931348623157e308, "1.7976931348623157e+308"},
                                                  {std::numeric_limits<double>::infinity(), "Infinity"}};
  for (const auto& [number, text] : texts) EXPECT_EQ(number_text(number), text);
  EXPECT_EQ(number_text(-std::numeric_limits<double>::infinity()), "-Infinity");
  EXPECT_EQ(number_text(std::numeric_limits<double>::quiet_NaN()), "NaN");
}

TEST(BreadboardTextTest, OneAndOnePointZeroDiffer) { EXPECT_NE(sha1_of_canonical(1), sha1_of_canonical(1.0)); }

TEST(BreadboardTextTest, StringsAreAscii) {
  static constexpr char kText[] = "\"\\\n\r\t\b\f/\x00\x1f\x7f é\u2028\uffff😀";
  const Value text(std::string_view(kText, sizeof kText - 1));
  EXPECT_EQ(plain(text), R"("\"\\\n\r\t\b\f/\u0000\u001f\u007f \u00e9\u2028\uffff\ud83d\ude00")");
  EXPECT_NE(plain("é"), plain("e\u0301"));
}

TEST(BreadboardTextTest, KeysAreSortedByCodePoint) {
  EXPECT_EQ(canonical_of(R"({"\ud800\udc00":1,"\uffff":2,"\udbff":3,"b":4,"B":5,"":6})"),
            R"({"":6,"B":5,"b":4,"\udbff":3,"\uffff":2,"\ud800\udc00":1})");
}

TEST(BreadboardTextTest, SecretKeysAreMaskedAndVolatileOnesRemovedAtEveryDepth) {
  EXPECT_EQ(canonical_of(R"({"API_Key":{"a":1},"x":[{"authorization":null,"seq":1,"Seq":2}],"timestamp":1,"timestamp_ms":2})"),
            R"({"API_Key":"***REDACTED***","x":[{"Seq":2,"authorization":"***REDACTED***"}]})");
  EXPECT_EQ(canonical_of(R"({"api_keys":1,"xapi_key":2,"api-key":3})"), R"({"api-key":3,"api_keys":1,"xapi_key":2})");
  // Python's lower case of the Kelvin sign is a plain k.
  EXPECT_EQ(canonical_of(R"({"openrouter_api_\u212aey":1})"), R"({"openrouter_api_\u212aey":"***REDACTED***"})");
  EXPECT_EQ(plain(must(read_json(R"({"api_key":1,"seq":2})"))), R"({"api_key":1,"seq":2})");
}

TEST(BreadboardTextTest, IndentedTextHasEmptyListsInOnePiece) {
  EXPECT_EQ(indented(must(read_json(R"({"b":[1,{}],"a":[]})"))), "{\n  \"a\": [],\n  \"b\": [\n    1,\n    {}\n  ]\n}");
  EXPECT_EQ(indented(1.0), "1.0");
}

}  // namespace
}  // namespace weir::breadboard
