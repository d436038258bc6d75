#include "http/metrics.h"

#include <gtest/gtest.h>

#include "testing/http_case.h"

namespace weir::http {
namespace {

using testing::HttpAnswer;
using testing::HttpCase;

constexpr const char* kNames[] = {"weir_build_info",         "weir_http_requests_total",  "weir_http_request_seconds",
                                  "weir_mcp_requests_total", "weir_append_entries_total", "weir_append_seconds",
                                  "weir_conflicts_total",    "weir_reads_total",          "weir_read_bytes_total",
                                  "weir_compactions_total",  "weir_check_failures_total", "weir_import_lines_total",
                                  "weir_masked_total",       "weir_fold_cache_bytes",     "weir_sessions",
                                  "weir_store_bytes",        "weir_store_free_bytes",     "weir_sse_clients",
                                  "weir_auth_failures_total"};

TEST(MetricsTest, EveryNameIsThereWithItsType) {
  HttpCase served;
  const HttpAnswer answer = served.get("/metrics");
  EXPECT_EQ(answer.header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  for (const char* name : kNames) EXPECT_NE(answer.body.find(std::string("# TYPE ") + name + " "), std::string::npos) << name;
  EXPECT_NE(answer.body.find("weir_build_info{version=\"0.0.1\"} 1\n"), std::string::npos);
}

TEST(MetricsTest, RequestsAreCountedByTheirRoute) {
  HttpCase served;
  served.append("a-session", 1);
  served.server().count_mcp("modern", "tools/call", "ok");
  served.get("/v1/sessions/a-session");
  served.get("/v1/sessions/another-one");
  served.get("/a-path-of-nobody");
  served.ask("A-METHOD", "/healthz");
  served.ask("GET", "/metrics", {}, {{"Authorization", "Bearer wrong"}});
  const std::string text = served.get("/metrics").body;
  for (const char* line :
       {"weir_http_requests_total{route=\"/v1/sessions/{session}\",method=\"GET\",status=\"200\"} 1\n",
        "weir_http_requests_total{route=\"/v1/sessions/{session}\",method=\"GET\",status=\"404\"} 1\n",
        "weir_http_requests_total{route=\"other\",method=\"GET\",status=\"404\"} 1\n",
        "weir_http_requests_total{route=\"/healthz\",method=\"other\",status=\"405\"} 1\n",
        "weir_http_requests_total{route=\"/metrics\",method=\"GET\",status=\"401\"} 1\n", "weir_http_request_seconds_count 5\n",
        "weir_mcp_requests_total{era=\"modern\",method=\"tools/call\",result=\"ok\"} 1\n", "weir_auth_failures_total 1\n",
        "weir_sessions 1\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  for (const char* word : {"a-session", "another-one", "a-path", "A-METHOD"}) EXPECT_EQ(text.find(word), std::string::npos) << word;
}

}  // namespace
}  // namespace weir::http
