#include "context/request.h"

#include <gtest/gtest.h>

#include "json/parse.h"
#include "testing/results.h"

namespace weir::context {
namespace {

using weir::testing::code;
using weir::testing::must;

Result<Request> parsed(std::string_view text) {
  json::Parser parser;
  return Request::parse(must(parser.parse(text)), Masker::standard());
}

TEST(RequestTest, WhatIsNotSaidIsEmpty) {
  const Request request = must(parsed("{}"));
  EXPECT_EQ(request.intent, "{}");
  EXPECT_EQ(request.tools, "null");
  EXPECT_FALSE(request.retrieval_query || request.reranker_model || request.reranker_version);
  EXPECT_TRUE(request.filters.empty() && request.candidate_chunk_ids.empty());
}

TEST(RequestTest, FiltersAreSortedAndChunksKeepTheirOrder) {
  const Request request = must(parsed(
      R"({"filters":["b","a","b"],"candidate_chunk_ids":["z","a","m"],"selected_chunk_ids":["m","z"],"selected_source_ids":["s","s"],)"
      R"("excluded_reasons":{"a":"stale"},"retrieval_query":"gauge 7","reranker_model":"r","reranker_version":"1",)"
      R"("intent":{"b":1,"a":2},"tools":[{"name":"ls"}]})"));
  EXPECT_EQ(request.filters, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(request.selected_chunk_ids, (std::vector<std::string>{"m", "z"}));
  EXPECT_EQ(request.selected_source_ids.size(), 2u);
  EXPECT_EQ(request.excluded_reasons.at("a"), "stale");
  EXPECT_EQ(request.intent, R"({"a":2,"b":1})");
  EXPECT_EQ(request.tools, R"([{"name":"ls"}])");
}

TEST(RequestTest, EveryFaultIsNamedWithItsPointer) {
  const auto wrong =
      parsed(R"({"intent":[],"retrieval_query":7,"filters":["a",1],"candidate_chunk_ids":["a","b","a"],"selected_chunk_ids":["b","x"],)"
             R"("selected_source_ids":"s","excluded_reasons":{"x":"w","b":"w","a":""},"reranker_model":true,"more":1})");
  ASSERT_EQ(code(wrong), "INVALID_FIELD");
  std::string paths;
  for (const FieldError& field : wrong.error().fields()) paths += field.path + " ";
  EXPECT_EQ(paths,
            "/intent /retrieval_query /reranker_model /filters/1 /candidate_chunk_ids/2 /selected_source_ids /selected_chunk_ids/1 "
            "/excluded_reasons/a /excluded_reasons/b /excluded_reasons/x /more ");
  EXPECT_EQ(code(parsed("7")), "INVALID_FIELD");
  EXPECT_EQ(code(parsed(R"({"intent":{"why":")" + std::string(70000, 'x') + "\"}}")), "INVALID_FIELD");
}

TEST(RequestTest, SecretsAreMaskedBeforeTheyReachAManifest) {
  const std::string secret = std::string("ghp_") + std::string(20, 'a') + std::string(20, 'B');
  const Request request = must(parsed(R"({"retrieval_query":"why )" + secret + R"(?","intent":{"token":"abc"}})"));
  EXPECT_EQ(request.retrieval_query, "why ***REDACTED***?");
  EXPECT_EQ(request.intent, R"({"token":"***REDACTED***"})");
}

}  // namespace
}  // namespace weir::context
