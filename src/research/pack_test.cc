#include "research/pack.h"

#include <gtest/gtest.h>

#include "json/canonical.h"
#include "json/error_value.h"
#include "testing/memory_run.h"
#include "testing/results.h"

namespace weir::research {
namespace {

using testing::MemoryRun;
using testing::upstream_cases;
using testing::UpstreamCase;

// The fixtures of a recorded case are the summaries of the run.
MemoryRun run_of(const UpstreamCase& one) {
  MemoryRun::Files files;
  for (auto& [path, bytes] : testing::case_files(one)) {
    files.emplace(path.starts_with("fx/") ? "summaries/" + path.substr(3) : path, bytes);
  }
  MemoryRun run(std::move(files));
  run.log_summaries();
  return run;
}

// `id source_artifact summary_md` of each entry, and the estimate.
std::string shape(const json::Value& pack) {
  std::string out;
  for (const json::Value& entry : pack.find("summaries")->items()) {
    for (const char* key : {"perspective_id", "source_artifact", "summary_md"}) out.append(entry.text_or(key, "?")).append(" ");
    out += "\n";
  }
  return out + json::canonical(*pack.find("total_estimated_tokens"));
}

// `claim [cids] confidence` of each.
std::string claims(const json::Value& pack) {
  std::string out;
  for (const json::Value& entry : pack.find("summaries")->items()) {
    for (const json::Value& claim : entry.find("key_claims")->items()) {
      out.append(claim.text_or("claim", "?")).append(" ").append(json::canonical(*claim.find("citation_cids"))).append(" ");
      out += json::canonical(*claim.find("confidence")) + "\n";
    }
  }
  return out;
}

// What stops the pack: the error, or the first failure of the first summary; nothing if it is built.
std::optional<Error> refusal(const Result<Pack>& pack) {
  if (!pack.ok()) return pack.error();
  if (!pack->refused.empty()) return pack->refused.front().failures.front().error;
  return std::nullopt;
}

void expect_recorded_error(const UpstreamCase& one, const std::optional<Error>& error) {
  ASSERT_TRUE(error.has_value());
  const json::Value& recorded = one.at("result.error");
  EXPECT_EQ(info(error->code()).name, recorded.text_or("code", ""));
  EXPECT_EQ(error->message(), recorded.text_or("message", ""));
  for (const json::Member& detail : recorded.find("details")->members()) {
    const std::string said = detail.value.is_string() ? std::string(detail.value.text()) : json::canonical(detail.value);
    EXPECT_EQ(testing::detail(*error, detail.key), said) << detail.key;
  }
}

void expect_recorded_pack(const UpstreamCase& one, const Result<Pack>& pack) {
  const auto error = refusal(pack);
  ASSERT_FALSE(error.has_value()) << error->message();
  json::Parser parser;
  std::string written(one.at("files_written").text_or("summaries/summary-pack.json", ""));
  EXPECT_EQ(shape(pack->value), shape(testing::must(parser.parse(written))));
}

TEST(PackTest, RecordedCasesAreAnsweredAsTheContractSays) {
  const std::map<std::string, std::string_view> own = {{"ok_empty_summary", "EMPTY_SUMMARY"},
                                                       {"ok_www_without_scheme", "RAW_URL_NOT_ALLOWED"},
                                                       {"ok_duplicate_ids", "DUPLICATE_PERSPECTIVE_ID"}};
  // Of arguments and of a file that the pack is not built from here.
  const std::set<std::string> elsewhere = {"err_empty_reason", "err_citations_missing"};
  int compared = 0;
  for (const UpstreamCase& one : upstream_cases("summary_pack_build")) {
    if (one.at("weir.answer") == json::Value("n/a") || elsewhere.contains(one.id)) continue;
    SCOPED_TRACE(one.id);
    ++compared;
    MemoryRun run = run_of(one);
    json::Arena arena;
    const auto pack = build_pack(run.pack_inputs(), arena);
    if (const auto answer = own.find(one.id); answer != own.end()) {
      const auto error = refusal(pack);
      EXPECT_EQ(error ? info(error->code()).name : "ok", answer->second);
    } else if (one.at("result.ok").boolean()) {
      expect_recorded_pack(one, pack);
    } else {
      expect_recorded_error(one, refusal(pack));
    }
  }
  EXPECT_EQ(compared, 11);
}

TEST(PackTest, RecordedSummariesGiveRealClaimsOrNone) {
  const std::map<std::string, std::string_view> expected = {
      {"ok_two", "Claim for p1. [\"cid_a\"] 50\nClaim for p2. [\"cid_a\"] 50\n"},
      {"ok_citations_blank_lines", "Claim for p1. [\"cid_a\"] 50\nClaim for p2. [\"cid_a\"] 50\n"},
      {"ok_multi_cite_pandoc_ignored", "x [\"cid_a\",\"cid_b\"] 50\n"},
      {"ok_utf8_bytes_not_chars_at_cap", ""},
      {"ok_total_cap_exact", ""}};
  std::size_t compared = 0;
  for (const UpstreamCase& one : upstream_cases("summary_pack_build")) {
    const auto found = expected.find(one.id);
    if (found == expected.end()) continue;
    ++compared;
    MemoryRun run = run_of(one);
    json::Arena arena;
    const Pack pack = testing::must(build_pack(run.pack_inputs(), arena));
    EXPECT_EQ(claims(pack.value), found->second) << one.id;
    if (found->second.empty()) {
      EXPECT_EQ(pack.warnings, std::vector<std::string>{"NO_KEY_CLAIMS"}) << one.id;
    }
  }
  EXPECT_EQ(compared, expected.size());
}

MemoryRun two_perspectives(std::string p1, std::string p2) {
  MemoryRun run({{"manifest.json", R"({"run_id":"r","limits":{"max_summary_kb":2,"max_total_summary_kb":3}})"},
                 {"perspectives.json", R"({"perspectives":[{"id":"p2"},{"id":"p1"}]})"},
                 {"summaries/p1.md", std::move(p1)},
                 {"summaries/p2.md", std::move(p2)}});
  run.log_summaries();
  return run;
}

TEST(PackTest, TheSumOverItsLimitIsRefusedWithTheLargestAndTheExcess) {
  MemoryRun run = two_perspectives(std::string(1500, 'x'), std::string(1573, 'y'));
  json::Arena arena;
  const Pack pack = testing::must(build_pack(run.pack_inputs(), arena));
  ASSERT_EQ(pack.refused.size(), 1u);
  EXPECT_EQ(pack.refused[0].perspective_id, "p2");
  const Error& error = pack.refused[0].failures[0].error;
  EXPECT_EQ(info(error.code()).name, "SIZE_CAP_EXCEEDED");
  EXPECT_EQ(testing::detail(error, "excess_bytes"), "1");
  EXPECT_EQ(testing::detail(error, "largest"), "p2");
}

TEST(PackTest, AMissingSummaryStopsThePackUnlessItMayBeMissing) {
  MemoryRun run = two_perspectives("x", "y");
  run.files.erase("summaries/p2.md");
  json::Arena arena;
  EXPECT_EQ(testing::code(build_pack(run.pack_inputs(), arena)), "NOT_FOUND");
  PackInputs in = run.pack_inputs();
  in.allow_missing = true;
  EXPECT_EQ(testing::must(build_pack(in, arena)).entries.size(), 1u);
}

TEST(PackTest, EverySummaryThatFailsIsNamedAndBytesThatAreNoTextAreRefused) {
  MemoryRun run = two_perspectives("é\xff", "x [@nowhere]");
  run.files["summaries/p2.md"] += "!";
  json::Arena arena;
  const Pack pack = testing::must(build_pack(run.pack_inputs(), arena));
  ASSERT_EQ(pack.refused.size(), 2u);
  EXPECT_EQ(info(pack.refused[0].failures[0].error.code()).name, "INVALID_UTF8");
  EXPECT_EQ(json::canonical(json::details_value(pack.refused[0].failures[0].error, arena)), R"({"offset":2,"perspective_id":"p1"})");
  EXPECT_EQ(info(pack.refused[1].failures[0].error.code()).name, "UNKNOWN_CID");
  EXPECT_EQ(pack.changed, std::vector<std::string>{"summaries/p2.md"});
}

}  // namespace
}  // namespace weir::research
