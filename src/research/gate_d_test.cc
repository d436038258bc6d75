// Gate D, by the recorded answers and by what the contract adds to them.
#include <gtest/gtest.h>

#include <algorithm>

#include "json/canonical.h"
#include "research/gates.h"
#include "testing/memory_run.h"
#include "testing/results.h"

namespace weir::research {
namespace {

using testing::MemoryRun;
using testing::upstream_cases;
using testing::UpstreamCase;

bool has(const std::vector<std::string>& list, std::string_view name) { return std::find(list.begin(), list.end(), name) != list.end(); }

std::string member(const json::Value& object, std::string_view key) {
  const json::Value* value = object.find(key);
  return value == nullptr ? "(none)" : json::canonical(*value);
}

// Every path that a refused document names.
std::string paths(const Error& error) {
  json::Parser parser;
  std::string out;
  for (const json::Value& one : testing::must(parser.parse(testing::detail(error, "errors"))).items()) {
    out.append(one.text_or("path", "?")).append(" ");
  }
  return out;
}

void expect_recorded_answer(const UpstreamCase& one, const GateAnswer& got) {
  for (const json::Member& metric : one.at("result.metrics").members()) {
    EXPECT_EQ(member(got.metrics, metric.key), json::canonical(metric.value)) << metric.key;
  }
  EXPECT_EQ(got.checks.text_or("bounds", ""), one.at("result.status").text());
  for (const json::Value& warning : one.at("result.update.D.warnings").items()) EXPECT_TRUE(has(got.warnings, warning.text()));
  EXPECT_FALSE(got.pass);  // there is no log, and mostly no pool
}

TEST(GateDTest, RecordedCasesAreAnsweredAsTheContractSays) {
  const std::map<std::string, std::string_view> refused = {
      {"quirk_key_claims_unknown_cid", "$.summaries[0].key_claims[0].claim $.summaries[0].key_claims[0].confidence "},
      {"quirk_non_object_entries_skipped", "$.summaries[1] $.summaries[2] $.summaries[3] "},
      {"summary_md_is_directory", "$.summaries[0].summary_md "},
      {"err_pack_array", "$.schema_version "}};
  int compared = 0;
  for (const UpstreamCase& one : upstream_cases("gate_d_evaluate")) {
    SCOPED_TRACE(one.id);
    ++compared;
    MemoryRun run(testing::case_files(one));
    json::Arena arena;
    const auto got = gate_d(run.gate_inputs(), arena);
    if (const auto wanted = refused.find(one.id); wanted != refused.end()) {
      ASSERT_EQ(testing::code(got), "SCHEMA_VALIDATION_FAILED");
      EXPECT_EQ(paths(got.error()), wanted->second);
    } else if (!one.at("result.ok").boolean()) {
      EXPECT_EQ(testing::code(got), one.at("result.error.code").text());
    } else if (one.id == "quirk_unknown_perspective_ids_pass") {
      for (const char* reason : {"COVERAGE_BELOW_MIN", "UNKNOWN_PERSPECTIVE", "DUPLICATE_ENTRY"}) EXPECT_TRUE(has(got->reasons, reason));
      EXPECT_EQ(member(got->metrics, "summary_count") + member(got->metrics, "summary_count_ratio"), "00");
    } else {
      expect_recorded_answer(one, testing::must(gate_d(run.gate_inputs(), arena)));
    }
    if (one.id == "quirk_pack_limits_disagree") {
      EXPECT_TRUE(has(got->warnings, "PACK_LIMITS_DIFFER"));
    }
    if (one.id == "limits_zero_empty_summary_passes") {
      EXPECT_EQ(got->checks.text_or("input", ""), "fail");
    }
  }
  EXPECT_EQ(compared, 13);
}

// A run of ten perspectives p0 to p9 whose pack was built by the rules; `made` of the summaries are there.
MemoryRun ten(int made, std::string limits = R"({"max_summary_kb":5,"max_total_summary_kb":60})") {
  std::string documents;
  MemoryRun::Files files = {{"citations/citations.jsonl", R"({"normalized_url":"https://a.org/","cid":"a","status":"valid"})"}};
  for (int i = 0; i < 10; ++i) {
    const std::string id = "p" + std::to_string(i);
    documents += (i == 0 ? "{\"id\":\"" : ",{\"id\":\"") + id + "\"}";
    if (i < made) files["summaries/" + id + ".md"] = "It is so [@a].\n";
  }
  files["perspectives.json"] = "{\"perspectives\":[" + documents + "]}";
  files["manifest.json"] = R"({"run_id":"r","query":{"text":"q"},"limits":)" + limits + "}";
  MemoryRun run(std::move(files));
  run.log_summaries();
  json::Arena arena;
  PackInputs in = run.pack_inputs();
  in.allow_missing = true;
  const Pack pack = testing::must(build_pack(in, arena));
  constexpr const char* kTime = "2026-02-13T12:40:00.000Z";
  run.log_pack(pack.value, kTime);
  run.state.pack->allow_missing = true;
  run.files["summaries/summary-pack.json"] = pack_text(pack.value, kTime, arena);
  return run;
}

std::string reasons(MemoryRun& run) {
  json::Arena arena;
  std::string out;
  for (const std::string& reason : testing::must(gate_d(run.gate_inputs(), arena)).reasons) out += reason + " ";
  return out;
}

TEST(GateDTest, Case28NineOfTenPassEightDoNotAndAListedFileMustBeThere) {
  MemoryRun nine = ten(9), eight = ten(8), all = ten(10);
  EXPECT_EQ(reasons(nine), "");
  EXPECT_EQ(reasons(eight), "COVERAGE_BELOW_MIN ");
  EXPECT_EQ(reasons(all), "");
  all.files.erase("summaries/p9.md");
  EXPECT_EQ(reasons(all), "SUMMARY_MISSING PACK_STALE ");
  all.files["summaries/p9.md/x"] = "";  // a folder
  EXPECT_NE(reasons(all).find("SUMMARY_UNREADABLE"), std::string::npos);
}

// The pack of the run with the text changed.
MemoryRun edited(std::string_view from, std::string_view to) {
  MemoryRun run = ten(10);
  std::string& pack = run.files["summaries/summary-pack.json"];
  for (std::size_t at = 0; (at = pack.find(from, at)) != std::string::npos; at += to.size()) pack.replace(at, from.size(), to);
  return run;
}

TEST(GateDTest, Case27CopiesAndOneFileUnderTwoIdsNeverRaiseCoverage) {
  MemoryRun copies = edited("\"perspective_id\": \"p9\"", "\"perspective_id\": \"p1\"");
  EXPECT_EQ(reasons(copies), "DUPLICATE_ENTRY ARTIFACT_CHANGED PACK_STALE ");  // still nine of ten
  MemoryRun shared = edited("summaries/p9.md", "summaries/p1.md");
  json::Arena arena;
  EXPECT_EQ(member(testing::must(gate_d(shared.gate_inputs(), arena)).metrics, "summary_count"), "9");
  MemoryRun none(MemoryRun::Files{{"manifest.json", R"({"run_id":"r"})"}});
  EXPECT_EQ(testing::code(gate_d(none.gate_inputs(), arena)), "NOT_FOUND");
}

TEST(GateDTest, Case25AndCase30ALargePackFailsAndAChangedByteIsNamed) {
  MemoryRun large = edited("\"run_id\"", "\"note\": \"" + std::string(70'000, 'x') + "\",\n  \"run_id\"");
  const std::string got = reasons(large);
  EXPECT_NE(got.find("PACK_TOO_LARGE"), std::string::npos);
  MemoryRun run = ten(10);
  json::Arena arena;
  const json::Value before = testing::must(gate_d(run.gate_inputs(), arena)).inputs;
  run.files["summaries/p3.md"] += " ";
  EXPECT_EQ(changed_members(before, testing::must(gate_d(run.gate_inputs(), arena)).inputs),
            (std::vector<std::string>{"entries[3]", "synthesis_input"}));
  EXPECT_EQ(reasons(run), "ARTIFACT_CHANGED ");
  run.limits.max_summary_kb = 1;
  const auto changed = changed_members(before, testing::must(gate_d(run.gate_inputs(), arena)).inputs);
  EXPECT_TRUE(has(changed, "limits"));
}

}  // namespace
}  // namespace weir::research
