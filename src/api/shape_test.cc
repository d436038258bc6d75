#include "api/shape.h"

#include <gtest/gtest.h>

#include "json/parse.h"
#include "testing/results.h"
#include "testing/schema_check.h"

namespace weir::api {
namespace {

std::string fault(std::string_view shape, std::string_view text) {
  json::Parser schema, value;
  return testing::schema_fault(testing::must(schema.parse(schema_of(shape))), testing::must(value.parse(text)));
}

TEST(ShapeTest, AShapeIsAJsonSchema) {
  EXPECT_EQ(schema_of("string"), R"({"type":"string"})");
  EXPECT_EQ(schema_of("string|null"), R"({"type":["string","null"]})");
  EXPECT_EQ(schema_of("any"), "true");
  EXPECT_EQ(schema_of("\"a\"|\"b\""), R"({"enum":["a","b"],"type":"string"})");
  EXPECT_EQ(schema_of("[integer]"), R"({"type":"array","items":{"type":"integer"}})");
  EXPECT_EQ(
      schema_of("{a:string, b?:integer}"),
      R"({"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a"],"additionalProperties":false})");
  EXPECT_EQ(schema_of("{*:integer}"), R"({"type":"object","additionalProperties":{"type":"integer"}})");
  EXPECT_EQ(schema_of("{...}|null"), R"({"anyOf":[{"type":"null"},{"type":"object","additionalProperties":true}]})");
}

TEST(ShapeTest, ValuesMeetItOrAreToldWhere) {
  constexpr std::string_view kShape = "{id:string, tags:[{name:string, n?:integer|null}], state:\"open\"|\"closed\", more:{*:boolean}}";
  EXPECT_EQ(fault(kShape, R"({"id":"x","tags":[{"name":"a"},{"name":"b","n":null}],"state":"open","more":{"y":true}})"), "");
  EXPECT_EQ(fault(kShape, R"({"tags":[],"state":"open","more":{}})"), "/id is missing");
  EXPECT_EQ(fault(kShape, R"({"id":"x","tags":[{"name":"a"},{"name":1}],"state":"open","more":{}})"), "/tags/1/name is not \"string\": 1");
  EXPECT_EQ(fault(kShape, R"({"id":"x","tags":[],"state":"ajar","more":{}})"), R"(/state is none of ["open","closed"])");
  EXPECT_EQ(fault(kShape, R"({"id":"x","tags":[],"state":"open","more":{"y":1}})"), "/more/y is not \"boolean\": 1");
  EXPECT_EQ(fault(kShape, R"({"id":"x","tags":[],"state":"open","more":{},"else":1})"), "/else is not known");
  EXPECT_EQ(fault("{a:integer}|{b:integer}", R"({"b":1})"), "");
  EXPECT_NE(fault("{a:integer}|{b:integer}", R"({"c":1})"), "");
}

}  // namespace
}  // namespace weir::api
