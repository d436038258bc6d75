#include "api/openapi.h"

#include <gtest/gtest.h>

#include <set>

#include "api/operation.h"
#include "base/error_code.h"
#include "json/parse.h"
#include "testing/results.h"

namespace weir::api {
namespace {

using json::Value;
using testing::must;

class OpenapiTest : public ::testing::Test {
 protected:
  const std::string text_ = openapi_document("1.2.3");
  json::Parser parser_;
  const Value document_ = must(parser_.parse(text_));
  const Value& paths_ = *document_.find("paths");

  const Value* at(const Value& from, std::initializer_list<std::string_view> names) {
    const Value* found = &from;
    for (const std::string_view name : names) found = found == nullptr ? nullptr : found->find(name);
    return found;
  }
  static std::string lower(std::string_view method) {
    std::string out(method);
    for (char& c : out) c = static_cast<char>(std::tolower(c));
    return out;
  }
  const Value* operation(std::string_view method, const std::string& path) { return at(paths_, {path, lower(method)}); }
};

TEST_F(OpenapiTest, EveryRouteIsInItAndNoOther) {
  std::set<std::string> wanted;
  for (const Operation& one : operations()) wanted.insert(lower(one.method) + " /v1" + std::string(one.path));
  for (const Alias& one : aliases()) wanted.insert(lower(one.method) + " " + std::string(one.path));
  for (const char* other : {"get /healthz", "get /readyz", "get /metrics", "get /openapi.json", "post /mcp", "get /mcp", "delete /mcp"})
    wanted.insert(other);
  std::set<std::string> found, ids;
  for (const json::Member& path : paths_.members()) {
    for (const json::Member& method : path.value.members()) {
      found.insert(std::string(method.key) + " " + std::string(path.key));
      EXPECT_TRUE(ids.insert(std::string(method.value.text_or("operationId", ""))).second) << path.key;
    }
  }
  EXPECT_EQ(found, wanted);
  EXPECT_EQ(openapi_document("1.2.3"), text_);
  EXPECT_EQ(document_.text_or("openapi", ""), "3.1.0");
  EXPECT_EQ(at(document_, {"info", "version"})->text(), "1.2.3");
}

TEST_F(OpenapiTest, EveryParameterIsWhereTheTableHasIt) {
  for (const Operation& one : operations()) {
    SCOPED_TRACE(std::string(one.id));
    const Value* described = operation(one.method, "/v1" + std::string(one.path));
    ASSERT_NE(described, nullptr);
    std::set<std::string> wanted, found;
    bool body = false;
    for (const Parameter& parameter : one.parameters) {
      body = body || parameter.in == In::body;
      const std::string in = parameter.in == In::path ? "path" : "query";
      if (parameter.in != In::body) wanted.insert(in + " " + std::string(parameter.name));
      const bool in_object = parameter.in == In::body && one.takes == Takes::json;
      const Value* member = at(*described, {"requestBody", "content", "application/json", "schema", "properties", parameter.name});
      EXPECT_EQ(member != nullptr, in_object || parameter.also_in_body) << parameter.name;
    }
    for (const Value& parameter : described->find("parameters")->items()) {
      EXPECT_NE(parameter.find("schema"), nullptr);
      if (parameter.text_or("in", "") != "header")
        found.insert(std::string(parameter.text_or("in", "")) + " " + std::string(parameter.text_or("name", "")));
    }
    EXPECT_EQ(found, wanted);
    EXPECT_EQ(described->find("requestBody") != nullptr, body);
    EXPECT_NE(at(*described, {"responses", std::to_string(one.status)}), nullptr);
    EXPECT_NE(at(*described, {"responses", "4XX", "$ref"}), nullptr);
    EXPECT_NE(at(*described, {"responses", "5XX", "$ref"}), nullptr);
  }
}

TEST_F(OpenapiTest, EveryReferenceLeadsSomewhereAndEveryCodeIsListed) {
  std::size_t references = 0;
  for (std::size_t from = text_.find("\"$ref\":\"#/"); from != std::string::npos; from = text_.find("\"$ref\":\"#/", from + 1)) {
    const std::size_t begin = from + std::string_view("\"$ref\":\"#/").size();
    std::string_view rest = std::string_view(text_).substr(begin, text_.find('"', begin) - begin);
    const Value* found = &document_;
    while (!rest.empty() && found != nullptr) {
      const std::size_t slash = std::min(rest.find('/'), rest.size());
      found = found->find(rest.substr(0, slash));
      rest.remove_prefix(std::min(slash + 1, rest.size()));
    }
    EXPECT_NE(found, nullptr);
    ++references;
  }
  EXPECT_GT(references, 2 * operations().size());
  std::set<std::string> codes;
  for (const char* name : {"RefusedProblem", "FailedProblem"})
    for (const Value& code : at(document_, {"components", "schemas", name, "properties", "code", "enum"})->items())
      EXPECT_TRUE(codes.insert(std::string(code.text())).second);
  EXPECT_EQ(codes.size(), std::size(kErrorCodes));
}

TEST_F(OpenapiTest, OnlyHealthNeedsNoToken) {
  for (const json::Member& path : paths_.members())
    for (const json::Member& method : path.value.members())
      EXPECT_EQ(method.value.find("security") != nullptr, path.key == "/healthz" || path.key == "/readyz") << path.key;
}

}  // namespace
}  // namespace weir::api
