#include "json/layout.h"

#include <gtest/gtest.h>

#include "json/canonical.h"
#include "json/parse.h"
#include "testing/results.h"

namespace weir::json {
namespace {

using testing::must;

constexpr Layout kInner[] = {{"z"}, {"a"}};
constexpr Layout kOthers[] = {{"n"}, {"m"}};
constexpr Layout kLayout[] = {{"version"}, {"list", kInner}, {"deep", kInner}, {"*", kOthers}};

std::string document(std::string_view text) {
  Parser parser;
  return write_document(must(parser.parse(text)), kLayout);
}

std::string line(std::string_view text) {
  Parser parser;
  return write_line(must(parser.parse(text)), kLayout);
}

TEST(LayoutTest, NamedMembersComeFirstInTheirOrderAndOthersFollowInCanonicalOrder) {
  EXPECT_EQ(line(R"({"b":1,"\ue000":2,"😀":3,"list":[],"A":4,"version":"v"})"),
            "{\"version\":\"v\",\"list\":[],\"A\":4,\"b\":1,\"\xF0\x9F\x98\x80\":3,\"\xEE\x80\x80\":2}");
}

TEST(LayoutTest, ARowHoldsForTheObjectThereAndForEveryObjectOfAnArrayThere) {
  EXPECT_EQ(line(R"({"deep":{"a":1,"b":2,"z":3},"list":[{"a":1,"z":2},7,{"z":1,"c":0,"a":2}]})"),
            R"({"list":[{"z":2,"a":1},7,{"z":1,"a":2,"c":0}],"deep":{"z":3,"a":1,"b":2}})");
}

TEST(LayoutTest, TheStarRowHoldsForEveryMemberThatNoRowNames) {
  EXPECT_EQ(line(R"({"x":{"m":1,"n":2},"version":{"m":1,"n":2},"*":{"m":1,"n":2}})"),
            R"({"version":{"m":1,"n":2},"*":{"n":2,"m":1},"x":{"n":2,"m":1}})");
}

TEST(LayoutTest, ADocumentIsIndentedByTwoAndEndsWithALineFeed) {
  EXPECT_EQ(document(R"({"list":[{"z":1},[],[1,[2]],{}],"version":"é\n","b":{}})"),
            "{\n"
            "  \"version\": \"é\\n\",\n"
            "  \"list\": [\n"
            "    {\n"
            "      \"z\": 1\n"
            "    },\n"
            "    [],\n"
            "    [\n"
            "      1,\n"
            "      [\n"
            "        2\n"
            "      ]\n"
            "    ],\n"
            "    {}\n"
            "  ],\n"
            "  \"b\": {}\n"
            "}\n");
  EXPECT_EQ(document("[]"), "[]\n");
  EXPECT_EQ(document("{}"), "{}\n");
  EXPECT_EQ(document("null"), "null\n");
}

TEST(LayoutTest, NumbersAndStringsAreWrittenAsInCanonicalText) {
  EXPECT_EQ(line(R"([1.0,1e21,-0.0,0.1,123456789012345678901234567890,"\u001f\/\u00e9\"",true,false,null])"),
            "[1,1e+21,0,0.1,123456789012345678901234567890,\"\\u001f/\xC3\xA9\\\"\",true,false,null]");
}

TEST(LayoutTest, WithoutRowsALineIsTheCanonicalText) {
  Parser parser;
  const Value value = must(parser.parse(R"({"b":[{"d":1,"c":[{}]}],"a":{"z":null,"y":"x"}})"));
  EXPECT_EQ(write_line(value, {}), canonical(value));
}

}  // namespace
}  // namespace weir::json
