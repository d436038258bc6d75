// A research run by the operations alone: a client sends texts, and what it gets is what the command line prints.
#include <gtest/gtest.h>

#include "json/canonical.h"
#include "json/parse.h"
#include "testing/api_world.h"
#include "testing/results.h"
#include "testing/source_dir.h"

namespace weir::api {
namespace {

using json::Value;
using testing::ApiWorld;
using testing::must;

std::string example(const std::string& path) {
  return testing::read_file(testing::source_dir() + "/tests/data/research-cases/example/" + path);
}

std::string in_quotes(const std::string& text) {
  std::string out;
  json::write_string(text, out);
  return out;
}

std::string outputs(const std::string& directory) {
  std::string out;
  for (const std::string id : {"p1", "p2"})
    out += (out.empty() ? "" : ",") +
           (R"({"perspective_id":")" + id + R"(","markdown":)" + in_quotes(example(directory + "/" + id + ".md")) + "}");
  return R"("outputs":[)" + out + "]";
}

class ResearchOperationTest : public ::testing::Test {
 protected:
  std::string step(const std::string& name, const std::string& options = "") {
    return world_.answer("research",
                         R"({"session":"dr_20260213_001","step":")" + name + "\"" + (options.empty() ? "" : "," + options) + "}");
  }
  std::string code(const std::string& name, const std::string& options = "") {
    return world_.code("research", R"({"session":"dr_20260213_001","step":")" + name + "\"" + (options.empty() ? "" : "," + options) + "}");
  }
  std::string member(const std::string& text, std::string_view name) {
    json::Parser parser;
    const Value answer = must(parser.parse(text));
    return answer.find(name) == nullptr ? "(none)" : json::canonical(*answer.find(name));
  }
  std::string records() {
    std::string out, lines = example("citations/citations.jsonl");
    for (std::size_t feed; (feed = lines.find('\n')) != std::string::npos; lines.erase(0, feed + 1)) {
      json::Parser parser;
      const std::string line = lines.substr(0, feed);
      const Value record = must(parser.parse(line));
      json::ObjectBuilder taken(parser.arena());
      taken.add("url", *record.find("url")).add("status", *record.find("status")).add_if("title", record.find("title"));
      out += (out.empty() ? "" : ",") + json::canonical(taken.add_if("evidence_snippet", record.find("evidence_snippet")).build());
    }
    return R"("records":[)" + out + "]";
  }

  ApiWorld world_;
};

TEST_F(ResearchOperationTest, FromTheQuestionToTheBundle) {
  EXPECT_EQ(code("status"), "NOT_FOUND");
  EXPECT_EQ(code("init"), "INVALID_ARGS");
  EXPECT_EQ(member(step("init", R"("query":"Does HTTP/3 shorten page loads on mobile networks?","limit":{"max_summary_kb":5})"), "created"),
            "true");
  EXPECT_EQ(code("perspectives"), "INVALID_ARGS");
  EXPECT_EQ(member(step("perspectives", R"("perspectives":)" + member("{\"x\":" + example("perspectives.json") + "}", "x")), "count"), "2");
  EXPECT_EQ(code("ingest", outputs("wave-1")), "INVALID_ARGS");  // which wave?
  EXPECT_EQ(member(step("ingest", R"("wave":1,)" + outputs("wave-1")), "ok"), "true");
  EXPECT_EQ(code("cite"), "INVALID_ARGS");
  EXPECT_EQ(code("cite", R"("extract":true,"list":true)"), "INVALID_ARGS");
  EXPECT_EQ(member(step("cite", R"("extract":true)"), "ok"), "true");
  EXPECT_EQ(code("cite", R"("url":"https://example.com/x")"), "INVALID_ARGS");  // found what?
  EXPECT_EQ(member(step("cite", records()), "ok"), "true");
  EXPECT_EQ(member(step("cite", R"("list":true)"), "count"), "3");
  EXPECT_EQ(member(step("summarize", outputs("summaries")), "ok"), "true");
  EXPECT_EQ(member(step("pack"), "ok"), "true");
  EXPECT_EQ(code("bundle"), "GATE_BLOCKED");
  for (const std::string gate : {"B", "C", "D"}) EXPECT_EQ(member(step("gate", R"("gate":")" + gate + "\""), "status"), "\"pass\"") << gate;
  EXPECT_EQ(member(step("bundle"), "ok"), "true");
  EXPECT_NE(member(step("bundle", R"("out":"-")"), "stream").find("<<<weir:"), std::string::npos);
  EXPECT_EQ(code("check"), "INVALID_ARGS");
  EXPECT_EQ(member(step("check", R"("report":"nothing is cited here")"), "ok"), "true");  // that it fails is an answer
  EXPECT_EQ(member(step("verify"), "ok"), "true");
  EXPECT_EQ(step("status"), world_.command({"research", "status", "--run", "dr_20260213_001", "--runs-root", world_.files() + "/runs"}));
}

TEST_F(ResearchOperationTest, NoPathOfAClientIsTaken) {
  for (const char* option : {"root", "run_root", "runs_root", "rebuild", "from", "file"})
    EXPECT_EQ(world_.wrong("research", R"({"session":"dr_20260213_001","step":"verify",")" + std::string(option) + R"(":"/tmp/x"})"),
              "/" + std::string(option));
}

}  // namespace
}  // namespace weir::api
