#include "ctree/breadboard_python.h"

#include <gtest/gtest.h>

#include "base/utf8.h"
#include "ctree/breadboard_read.h"
#include "ctree/breadboard_text.h"
#include "testing/results.h"

namespace weir::breadboard {
namespace {

using testing::code;
using testing::must;

std::string int_of(const Value& value) {
  const auto number = to_int(value);
  return number ? plain(*number) : "none";
}

Value read(std::string_view text) { return must(read_json(text)); }

TEST(BreadboardPythonTest, IntTakesWhatPythonsDoes) {
  const std::pair<const char*, const char*> numbers[] = {{"2", "2"},
                                                         {"2.9", "2"},
                                                         {"-2.9", "-2"},
                                                         {"-0.5", "0"},
                                                         {"true", "1"},
                                                         {"false", "0"},
                                                         {"NaN", "none"},
                                                         {"-Infinity", "none"},
                                                         {"null", "none"},
                                                         {"[]", "none"},
                                                         {"{}", "none"},
                                                         {"\"\"", "none"},
                                                         {"\" +3\\n\"", "3"},
                                                         {"\"1_000\"", "1000"},
                                                         {"\"_1\"", "none"},
                                                         {"\"1_\"", "none"},
                                                         {"\"1__0\"", "none"},
                                                         {"\"- 1\"", "none"},
                                                         {"\"007\"", "7"},
                                                         {"\"-0\"", "0"},
                                                         {"\"2.0\"", "none"},
                                                         {"\"\\u0663\"", "3"},
                                                         {"\"\\uff11\"", "1"},
                                                         {"\"\\u00a02\"", "2"},
                                                         {"\"0x1\"", "none"},
                                                         {"\"\\u001c2\"", "none"},
                                                         {"\"+\"", "none"},
                                                         {"\"\\u00b2\"", "none"},
                                                         {"\"1\\u0000\"", "none"},
                                                         {"1e22", "10000000000000000000000"}};
  for (const auto& [text, wanted] : numbers) EXPECT_EQ(int_of(read(text)), wanted) << text;
  EXPECT_EQ(int_of(1e300).size(), 301u);
  EXPECT_EQ(int_of(std::string(4300, '9')), std::string(4300, '9'));
  EXPECT_EQ(int_of(std::string(4301, '0')), "none");
}

TEST(BreadboardPythonTest, EmptyThingsAndZerosAreFalse) {
  for (const char* text : {"null", "false", "0", "-0", "0.0", "-0.0", "\"\"", "[]", "{}"}) EXPECT_FALSE(is_true(read(text))) << text;
  for (const char* text : {"true", "1", "-1", "NaN", "5e-324", "\" \"", "[0]", "{\"\":0}"}) EXPECT_TRUE(is_true(read(text))) << text;
}

TEST(BreadboardPythonTest, ScalarsHaveATextAndOthersNone) {
  const std::pair<const char*, const char*> texts[] = {{"null", "None"}, {"true", "True"},      {"false", "False"},
                                                       {"12", "12"},     {"1e16", "1e+16"},     {"2.0", "2.0"},
                                                       {"NaN", "nan"},   {"-Infinity", "-inf"}, {"\" a\"", " a"}};
  for (const auto& [text, wanted] : texts) EXPECT_EQ(must(to_str(read(text), "it")), wanted);
  EXPECT_EQ(code(to_str(read("[]"), "it")), "NOT_REPRODUCIBLE");
  EXPECT_EQ(code(to_str(read("{}"), "it")), "NOT_REPRODUCIBLE");
}

TEST(BreadboardPythonTest, StripKnowsPythonsWhiteSpace) {
  EXPECT_EQ(strip("\x1c\x1f \t\u3000\u0085a b\u2028\u00a0"), "a b");
  EXPECT_EQ(strip("\ufeffa\u200b"), "\ufeffa\u200b");
  EXPECT_TRUE(is_blank(" \u2003"));
  EXPECT_EQ(lower("Sanitized_\u212aey"), "sanitized_key");
  EXPECT_EQ(upper("\u017fpec"), "SPEC");
}

TEST(BreadboardPythonTest, IntegersOfAnySizeCompare) {
  const char* ascending[] = {"-100000000000000000000000", "-99999999999999999999999", "-1", "false", "true", "2", "10",
                             "100000000000000000000000"};
  for (std::size_t i = 0; i < std::size(ascending); ++i) {
    for (std::size_t j = 0; j < std::size(ascending); ++j) {
      const int order = compare_ints(read(ascending[i]), read(ascending[j]));
      EXPECT_EQ(order < 0, i < j) << ascending[i] << " " << ascending[j];
      EXPECT_EQ(order > 0, i > j) << ascending[i] << " " << ascending[j];
    }
  }
  EXPECT_EQ(compare_ints(true, 1), 0);
  EXPECT_EQ(nearest_int64(read("99999999999999999999")), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(nearest_int64(read("-99999999999999999999")), std::numeric_limits<std::int64_t>::min());
}

TEST(BreadboardPythonTest, LengthsAreCodePoints) {
  const Value text = read(R"("a\u00e9\ud83d\ude00\ud800")");
  EXPECT_EQ(code_points(text.text()), 4u);
  EXPECT_EQ(first_code_points(text.text(), 2), "aé");
  EXPECT_EQ(first_code_points(text.text(), 9), text.text());
}

}  // namespace
}  // namespace weir::breadboard
