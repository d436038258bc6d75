#include "http/router.h"

#include <gtest/gtest.h>

#include <set>

namespace weir::http {
namespace {

Result<void> nothing(api::Call&) { return {}; }

std::vector<api::Operation> operations() {
  const auto make = [](const char* id, const char* method, const char* path) {
    api::Operation out{};
    out.id = id;
    out.method = method;
    out.path = path;
    out.run = nothing;
    return out;
  };
  return {make("getSession", "GET", "/sessions/{session}"),    make("deleteSession", "DELETE", "/sessions/{session}"),
          make("reads", "GET", "/sessions/{session}/reads"),   make("digest", "GET", "/sessions/{session}/reads/digest"),
          make("ctrees", "GET", "/sessions/{session}/ctrees"), make("putHead", "PUT", "/sessions/{session}/heads/{head}"),
          make("events", "GET", "/sessions/{session}/events")};
}

class RouterTest : public ::testing::Test {
 protected:
  std::string found(std::string_view method, std::string_view path) {
    const auto answer = router_.find(method, path);
    if (!answer.match) return answer.allow.empty() ? "404" : "405 " + answer.allow;
    const Route& route = *answer.match->route;
    std::string out = route.operation != nullptr ? std::string(route.operation->id) : route.path;
    for (const auto& [name, value] : answer.match->arguments) out += " " + name + "=" + value;
    return out;
  }
  const std::vector<api::Operation> operations_ = operations();
  const Router router_{operations_};
};

TEST_F(RouterTest, OperationsStandUnderV1) {
  EXPECT_EQ(found("GET", "/v1/sessions/s"), "getSession session=s");
  EXPECT_EQ(found("HEAD", "/v1/sessions/s"), "getSession session=s");
  EXPECT_EQ(found("GET", "/v1/sessions/s/reads/digest"), "digest session=s");
  EXPECT_EQ(found("GET", "/sessions/s"), "404");
}

TEST_F(RouterTest, PartsAreDecodedAfterTheyWereSplit) {
  EXPECT_EQ(found("GET", "/v1/sessions/a%2Fb%20c"), "getSession session=a/b c");
  EXPECT_EQ(found("GET", "/v1/sessions/a+b"), "getSession session=a+b");
  EXPECT_EQ(found("GET", "/v1/sessions/%2e%2e"), "getSession session=..");
  EXPECT_EQ(found("GET", "/v1/sessions/%"), "404");
  EXPECT_EQ(found("GET", "/v1/sessions/%zz"), "404");
  EXPECT_EQ(found("GET", "/v1/sessions/%4"), "404");
}

TEST_F(RouterTest, WhatIsNotThereIs404) {
  for (const char* path : {"/", "//", "/v1", "/v1/", "/v1/sessions/s/", "/v1/sessions//reads", "/v1/sessions/", "/V1/sessions/s",
                           "/v1/nothing", "/v1/../healthz", "/healthz/", "/v2/sessions/s"})
    EXPECT_EQ(found("GET", path), "404") << path;
}

TEST_F(RouterTest, AnotherMethodIs405WithAllow) {
  EXPECT_EQ(found("POST", "/v1/sessions/s"), "405 GET, HEAD, DELETE");
  EXPECT_EQ(found("OPTIONS", "/healthz"), "405 GET, HEAD");
  EXPECT_EQ(found("get", "/healthz"), "405 GET, HEAD");
  EXPECT_EQ(found("HEAD", "/mcp"), "405 POST, GET, DELETE");
}

TEST_F(RouterTest, AliasesLeadToTheSameOperation) {
  EXPECT_EQ(found("GET", "/sessions/s/ctrees"), "ctrees session=s");
  EXPECT_EQ(found("GET", "/sessions/s/readcache-status"), "reads session=s");
  EXPECT_EQ(found("POST", "/sessions/s/tree"), "putHead head=main session=s");
  EXPECT_EQ(found("GET", "/v1/sessions/s/readcache-status"), "404");
}

TEST_F(RouterTest, EventsAreTheServersOwn) {
  const auto answer = router_.find("GET", "/v1/sessions/s/events");
  ASSERT_TRUE(answer.match);
  EXPECT_EQ(answer.match->route->target, Target::events);
}

TEST_F(RouterTest, EveryTemplateIsThereOnce) {
  std::set<std::string> seen;
  for (const Route& route : router_.routes()) EXPECT_TRUE(seen.insert(route.method + " " + route.path).second) << route.path;
}

TEST(QueryTest, NamesAndValuesAreDecoded) {
  const auto query = parse_query("a=1&b=x%26y+z&c=&d&%65=%3D");
  ASSERT_TRUE(query.ok());
  EXPECT_EQ(*query, (Parameters{{"a", "1"}, {"b", "x&y z"}, {"c", ""}, {"d", ""}, {"e", "="}}));
  EXPECT_TRUE(parse_query("")->empty());
  EXPECT_EQ(parse_query("&&a=1&")->size(), 1u);
}

TEST(QueryTest, TwiceOrWronglyEscapedIsUsage) {
  for (const char* query : {"a=1&a=2", "a=%", "a=%g0", "%=1"}) {
    const auto parsed = parse_query(query);
    ASSERT_FALSE(parsed.ok()) << query;
    EXPECT_EQ(parsed.error().code(), ErrorCode::USAGE);
  }
}

}  // namespace
}  // namespace weir::http
