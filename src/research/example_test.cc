// The worked example of the contract, step by step through the functions, to the byte and the digest.
#include <gtest/gtest.h>

#include "json/canonical.h"
#include "research/gates.h"
#include "testing/memory_run.h"
#include "testing/results.h"
#include "testing/source_dir.h"
#include "testing/temp_dir.h"

namespace weir::research {
namespace {

using testing::MemoryRun;
using testing::must;

constexpr const char* kTime = "2026-02-13T12:40:00.000Z";

std::string example(const std::string& path) {
  return testing::read_file(testing::source_dir() + "/tests/data/research-cases/example/" + path);
}

MemoryRun example_run() {
  MemoryRun::Files files = {{"manifest.json", R"({"run_id":"dr_20260213_001","limits":{},)"
                                              R"("query":{"text":"Does HTTP/3 shorten page loads on mobile networks?"}})"}};
  for (const char* path : {"perspectives.json", "citations/citations.jsonl", "wave-1/p1.md", "wave-1/p2.md", "summaries/p1.md",
                           "summaries/p2.md", "summaries/summary-pack.json"}) {
    files[path] = example(path);
  }
  MemoryRun run(std::move(files));
  run.log_outputs();
  run.log_summaries();
  return run;
}

std::string metric(const GateAnswer& answer, std::string_view name) { return json::canonical(*answer.metrics.find(name)); }

TEST(ExampleTest, GatesBAndCPassAndTheUrlsAreFound) {
  MemoryRun run = example_run();
  json::Arena arena;
  const GateAnswer b = must(gate_b(run.gate_inputs(), arena));
  EXPECT_TRUE(b.pass);
  EXPECT_EQ(metric(b, "wave_output_rate") + metric(b, "sources_rate") + metric(b, "missing_count"), "110");
  EXPECT_EQ(extract(must(output_texts(run.state, run.perspectives, run))).shown(),
            (std::vector<std::string>{"https://example.com/quic-study?utm_source=feed", "https://example.net/operator-report",
                                      "https://example.org/handshake/"}));
  const GateAnswer c = must(gate_c(run.gate_inputs(), arena));
  EXPECT_TRUE(c.pass);
  EXPECT_EQ(json::canonical(c.metrics), R"({"invalid_url_rate":0,"uncategorized_url_rate":0,"url_count":3,"validated_url_rate":1})");
}

TEST(ExampleTest, ThePackIsBuiltToTheByte) {
  MemoryRun run = example_run();
  json::Arena arena;
  const Pack pack = must(build_pack(run.pack_inputs(), arena));
  EXPECT_TRUE(pack.refused.empty());
  EXPECT_EQ(pack.total_bytes, 527u);
  EXPECT_EQ(pack_text(pack.value, kTime, arena), example("summaries/summary-pack.json"));
}

TEST(ExampleTest, GateDPassesWithItsDigestAndMeasuresTheBundle) {
  MemoryRun run = example_run();
  json::Arena arena;
  run.log_pack(must(build_pack(run.pack_inputs(), arena)).value, kTime);
  Bundle bundle;
  const GateAnswer got = must(gate_d(run.gate_inputs(), arena, &bundle));
  EXPECT_TRUE(got.pass);
  json::Parser parser;
  const json::Value recorded = must(parser.parse(example("gate-d.json")));
  EXPECT_EQ(json::canonical(got.checks), json::canonical(*recorded.find("checks")));
  EXPECT_EQ(json::canonical(got.metrics), json::canonical(*recorded.find("metrics")));
  EXPECT_EQ(json::canonical(got.inputs), json::canonical(*recorded.find("inputs")));
  EXPECT_EQ(got.inputs_digest, "sha256:18ec573b1fd24e08d1069cf8bf0c8a7b5e2af50bcd1ce53535e11ef63a4f4c3f");
  EXPECT_EQ(bundle.stream, example("synthesis/input-bundle.txt"));
  EXPECT_EQ(bundle.sha256, "sha256:a585eaee17e07170d6f05271da361787fb036d0548c0efde445bff0bd96a9121");
  json::Parser index;
  EXPECT_EQ(json::canonical(parts_value(bundle.index, arena)),
            json::canonical(*must(index.parse(example("synthesis/input-bundle.json"))).find("parts")));
}

TEST(ExampleTest, OneMoreByteMakesGateDStale) {
  MemoryRun run = example_run();
  json::Arena arena;
  const GateAnswer before = must(gate_d(run.gate_inputs(), arena));
  run.files["summaries/p1.md"] += "\n";
  const GateAnswer after = must(gate_d(run.gate_inputs(), arena));
  EXPECT_EQ(changed_members(before.inputs, after.inputs), (std::vector<std::string>{"entries[0]", "synthesis_input"}));
}

TEST(ExampleTest, OneByteOverTheCapIsRefusedWithTheFigures) {
  const SummaryCheck got = check_summary(std::string(5121, 'x'), "p1", Pool(), 5, NumberRule::refuse);
  ASSERT_EQ(got.failures.size(), 1u);
  const Error& error = got.failures[0].error;
  EXPECT_EQ(info(error.code()).name, "SIZE_CAP_EXCEEDED");
  EXPECT_EQ(testing::detail(error, "summary_kb"), "5.000977");
  EXPECT_EQ(testing::detail(error, "cap_bytes") + " " + testing::detail(error, "excess_bytes"), "5120 1");
}

}  // namespace
}  // namespace weir::research
