#include "research/summary.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "json/canonical.h"
#include "json/error_value.h"
#include "json/parse.h"
#include "testing/results.h"
#include "testing/source_dir.h"
#include "testing/temp_dir.h"
#include "testing/upstream_cases.h"

namespace weir::research {
namespace {

using testing::must;

const Pool& pool() {
  static const Pool pool({{"a", "valid", "fell by 12% to 1,000"},
                          {"b", "paywalled", "and 7.50"},
                          {"plain", "valid"},
                          {"shut", "blocked", "12"},
                          {"bad", "invalid"}});
  return pool;
}

SummaryCheck check(std::string_view text, double kb = 5, NumberRule rule = NumberRule::refuse) {
  return check_summary(text, "p1", pool(), kb, rule);
}

std::string codes(const SummaryCheck& check) {
  std::string out;
  for (const Failure& failure : check.failures) out.append(info(failure.error.code()).name).append(" ");
  return out;
}

std::string warnings(const SummaryCheck& check) {
  std::string out;
  for (const std::string& warning : check.warnings) out += warning + " ";
  return out;
}

std::string details(const Failure& failure) {
  json::Arena arena;
  return json::canonical(json::details_value(failure.error, arena));
}

// claim [cids] confidence, `*` if it is the author's, and what came of its numbers
std::string claims(const SummaryCheck& check) {
  std::string out;
  for (const Claim& one : check.claims) {
    const char* numbers = one.numbers == NumberCheck::pass ? "" : one.numbers == NumberCheck::unchecked ? " unchecked" : " warned";
    out += fmt::format("{}: {} [{}] {}{}{}\n", one.line, one.claim, fmt::join(one.cids, " "), one.confidence,
                       one.confidence_given ? "*" : "", numbers);
  }
  return out;
}

Pool pool_of(std::string_view jsonl) {
  std::vector<Citation> records;
  json::Parser parser;
  for (std::size_t begin = 0; begin < jsonl.size();) {
    const std::size_t end = std::min(jsonl.find('\n', begin), jsonl.size());
    if (end > begin) {
      const json::Value record = must(parser.parse(jsonl.substr(begin, end - begin)));
      Citation citation{std::string(record.text_or("cid", "")), std::string(record.text_or("status", ""))};
      if (record.find("evidence_snippet") != nullptr) citation.snippet = record.text_or("evidence_snippet", "");
      records.push_back(std::move(citation));
    }
    begin = end + 1;
  }
  return Pool(std::move(records));
}

TEST(SummaryTest, TheWorkedExampleMakesThreeClaims) {
  const std::string dir = testing::source_dir() + "/tests/data/research-cases/example/";
  const Pool records = pool_of(testing::read_file(dir + "citations/citations.jsonl"));
  const std::string c1 = "cid_563f70b5435c9c87eda7fd9b549b3199fdbeff877132f6d4f609171829675817";
  const std::string c2 = "cid_4cd78ab7f2450cbcd182459d5edc2418e0196a141be4e4f2e2048d8a6bc44508";
  const std::string c3 = "cid_c88643dbb7faf859dd08bae2723bd98fcd5e08e1185b6890ebca2fc509e5cd43";
  const SummaryCheck p1 = check_summary(testing::read_file(dir + "summaries/p1.md"), "p1", records, 5, NumberRule::refuse);
  EXPECT_EQ(codes(p1) + warnings(p1), "");
  EXPECT_EQ(claims(p1), "2: Median load time fell by 12% on mobile links. [" + c1 +
                            "] 85*\n3: Most of the gain comes from faster connection setup. [" + c2 + " " + c1 + "] 70*\n");
  EXPECT_EQ(p1.mentioned, (std::vector<std::string>{c2, c1}));
  const SummaryCheck p2 = check_summary(testing::read_file(dir + "summaries/p2.md"), "p2", records, 5, NumberRule::refuse);
  EXPECT_EQ(codes(p2) + warnings(p2), "");
  EXPECT_EQ(claims(p2), "2: One operator saw no gain below 1% packet loss. [" + c3 + "] 50\n");
}

// What Weir answers to the summaries of a recorded case, one after another.
std::string answer(const json::Value& one) {
  const json::Value& files = *one.find("files");
  json::Parser parser;
  const double kb =
      static_cast<double>(must(parser.parse(files.text_or("manifest.json", ""))).find("limits")->find("max_summary_kb")->integer());
  const Pool records = pool_of(files.text_or("citations/citations.jsonl", ""));
  std::string out;
  for (const json::Member& file : files.members()) {
    if (!file.key.starts_with("fx/")) continue;
    const std::string_view id = file.key.substr(3, file.key.size() - 6);
    const SummaryCheck got = check_summary(file.value.text(), id, records, kb, NumberRule::refuse);
    out += std::string(id) + " " + codes(got) + warnings(got) + claims(got);
  }
  return out;
}

TEST(SummaryTest, RecordedCasesAreAnsweredAsTheContractSays) {
  const std::map<std::string, std::string, std::less<>> expected = {
      {"ok_two", "p1 2: Claim for p1. [cid_a] 50\np2 2: Claim for p2. [cid_a] 50\n"},
      {"ok_empty_summary", "p1 EMPTY_SUMMARY NO_KEY_CLAIMS p2 EMPTY_SUMMARY NO_KEY_CLAIMS "},
      {"ok_utf8_bytes_not_chars_at_cap", "p1 NO_KEY_CLAIMS "},
      {"ok_total_cap_exact", "p1 NO_KEY_CLAIMS p2 NO_KEY_CLAIMS "},
      {"ok_www_without_scheme", "p1 RAW_URL_NOT_ALLOWED NO_KEY_CLAIMS p2 NO_KEY_CLAIMS "},
      {"err_blocked_status_cid", "p1 UNKNOWN_CID 1: x [cid_d] 50\np2 NO_KEY_CLAIMS "},
      {"ok_multi_cite_pandoc_ignored", "p1 1: x [cid_a cid_b] 50\np2 NO_KEY_CLAIMS "},
      {"ok_citations_blank_lines", "p1 2: Claim for p1. [cid_a] 50\np2 2: Claim for p2. [cid_a] 50\n"},
  };
  std::size_t compared = 0;
  for (const testing::UpstreamCase& one : testing::upstream_cases("summary_pack_build")) {
    SCOPED_TRACE(one.id);
    const auto found = expected.find(one.id);
    if (found == expected.end()) continue;
    ++compared;
    EXPECT_EQ(answer(one.line), found->second);
  }
  EXPECT_EQ(compared, expected.size());
}

TEST(SummaryTest, RecordedMessageAndDetailsOfAnUnknownCidAreKept) {
  const SummaryCheck got = check("x [@shut]");
  ASSERT_EQ(got.failures.size(), 1u);
  EXPECT_EQ(got.failures[0].error.message(), "summary references cid not present in validated pool");
  EXPECT_EQ(details(got.failures[0]), R"({"cid":"shut","cids":["shut"],"perspective_id":"p1"})");
}

TEST(SummaryTest, Case16AllCidsOutsideTheValidatedPoolAreNamedAndNoneIsReplaced) {
  const SummaryCheck got = check("# T [@new]\nx [@shut; @a]. Y [@bad].\n```\n[@fenced]\n```\n");
  EXPECT_EQ(codes(got), "UNKNOWN_CID ");
  EXPECT_EQ(details(got.failures[0]), R"({"cid":"bad","cids":["bad","fenced","new","shut"],"perspective_id":"p1"})");
  EXPECT_EQ(got.failures[0].note, "Cite only pool ids; unknown: bad, fenced, new, shut");
  EXPECT_EQ(claims(got), "2: x. [a shut] 50\n2: Y. [bad] 50\n");
}

TEST(SummaryTest, Case17RawUrlsAreRefusedAndMalformedMentionsAreWarnedOf) {
  for (const char* url : {"https://x.org", "HTTP://x.org", "ftp://x.org", "www.x.org"}) {
    const SummaryCheck got = check(std::string("T [@a].\n\nsee ") + url);
    EXPECT_EQ(codes(got), "RAW_URL_NOT_ALLOWED ") << url;
    EXPECT_EQ(details(got.failures[0]), R"({"line":3,"perspective_id":"p1"})");
    EXPECT_EQ(got.failures[0].note, "Replace the raw URL on line 3 by [@cid]");
  }
  EXPECT_EQ(claims(check("T [@b; @a]")), "1: T [a b] 50\n");
  const SummaryCheck malformed = check("T [@a b]");
  EXPECT_EQ(codes(malformed), "");
  EXPECT_EQ(warnings(malformed), "MALFORMED_MENTION NO_KEY_CLAIMS ");
}

TEST(SummaryTest, Case18KeyClaimsAreTheCitedItemsSentencesAndRows) {
  const SummaryCheck got = check(
      "# Title [@a]\nFirst fell 12% [@a] , then\nrose. Second says nothing.\nThird [@plain]! (confidence: 40) [@a]\n\n"
      "- item one. Two sentences [@b] (confidence: 0)\n  go on\n- uncited\n1. [@a]\n\n| k | v |\n| x | 7.5 [@b] |\n```\nno [@a]\n```\n");
  EXPECT_EQ(
      claims(got),
      "2: First fell 12%, then rose. [a] 50\n4: Third! [a plain] 40*\n6: item one. Two sentences go on [b] 0*\n12: | x | 7.5 | [b] 50\n");
  EXPECT_EQ(codes(got), "");
  EXPECT_EQ(warnings(got), "EMPTY_CLAIM ");
}

TEST(SummaryTest, AConfidenceOutsideTheRangeIsRefusedWithItsLine) {
  const SummaryCheck got = check("x\n\n- y [@a] (confidence: 101)\n- z (confidence: -3)");
  EXPECT_EQ(codes(got), "INVALID_CONFIDENCE INVALID_CONFIDENCE ");
  EXPECT_EQ(details(got.failures[0]), R"({"line":3,"perspective_id":"p1","value":"101"})");
  EXPECT_EQ(codes(check("y [@a] (confidence: 100) and (confidence: high)")), "");
}

TEST(SummaryTest, Case19ANumberThatNoQuoteHasIsRefusedOrWarnedOf) {
  EXPECT_EQ(codes(check("It fell by 12% to 1000.0 [@a].")), "");
  const SummaryCheck got = check("x\n\nIt fell by 13% to 14 or 1,000 [@a; @b].");
  EXPECT_EQ(codes(got), "NUMBER_NOT_IN_QUOTE NUMBER_NOT_IN_QUOTE ");
  EXPECT_EQ(details(got.failures[0]),
            R"({"cids":["a","b"],"claim":"It fell by 13% to 14 or 1,000.","line":3,"number":"13","perspective_id":"p1"})");
  EXPECT_EQ(got.failures[0].note, "13 is not in the quoted evidence of a, b");
  EXPECT_EQ(got.failures[1].note, "14 is not in the quoted evidence of a, b");
  EXPECT_EQ(check("13 [@a]").failures[0].note, "13 is not in the quoted evidence of a");
  const SummaryCheck warned = check("It fell by 13% [@a].", 5, NumberRule::warn);
  EXPECT_EQ(codes(warned), "");
  EXPECT_EQ(warnings(warned), "NUMBER_NOT_IN_QUOTE ");
  EXPECT_EQ(claims(warned), "1: It fell by 13%. [a] 50 warned\n");
}

TEST(SummaryTest, Case19WithoutASnippetANumberIsUncheckedUnlessAnotherQuoteHasIt) {
  EXPECT_EQ(claims(check("13 [@plain].")), "1: 13. [plain] 50 unchecked\n");
  EXPECT_EQ(claims(check("13 [@plain; @a].")), "1: 13. [a plain] 50 unchecked\n");
  EXPECT_EQ(claims(check("12 [@plain; @a].")), "1: 12. [a plain] 50\n");
}

TEST(SummaryTest, Case20BytesDecideAndTheCapItselfPasses) {
  EXPECT_EQ(codes(check(std::string(5120, 'a'))), "");
  const SummaryCheck over = check(std::string(5121, 'a'));
  EXPECT_EQ(codes(over), "SIZE_CAP_EXCEEDED ");
  EXPECT_EQ(details(over.failures[0]),
            R"({"bytes":5121,"cap_bytes":5120,"excess_bytes":1,"max_summary_kb":5,"perspective_id":"p1","summary_kb":5.000977})");
  std::string two;
  for (int i = 0; i < 2560; ++i) two += "é";
  EXPECT_EQ(codes(check(two)), "");
  EXPECT_EQ(codes(check(std::string(512, 'a'), 0.5)), "");
  EXPECT_EQ(codes(check(std::string(513, 'a'), 0.5)), "SIZE_CAP_EXCEEDED ");
}

TEST(SummaryTest, Case21AnOversizeSummaryIsToldCapAndExcess) {
  EXPECT_EQ(check(std::string(6200, 'a')).failures[0].note, "Summary is 6200 bytes, cap 5120: cut at least 1080 bytes");
}

TEST(SummaryTest, Case23BlankSummariesAndLinesOfTheFrameAreRefused) {
  EXPECT_EQ(codes(check("")), "EMPTY_SUMMARY ");
  EXPECT_EQ(codes(check(" \n\t\u00A0\uFEFF")), "EMPTY_SUMMARY ");
  const SummaryCheck got = check("x [@a]\n<<<weir:end>>>\n <<<weir:\n```\n<<<weir:\n```");
  EXPECT_EQ(codes(got), "RESERVED_LINE RESERVED_LINE ");
  EXPECT_EQ(details(got.failures[1]), R"({"line":5,"perspective_id":"p1"})");
}

TEST(SummaryTest, AllFailuresStandInTheOrderOfTheChecks) {
  EXPECT_EQ(codes(check("13 [@a] (confidence: 900) [@new] www.x.y\n<<<weir:\n\n13 [@a].", 0.01)),
            "RESERVED_LINE RAW_URL_NOT_ALLOWED UNKNOWN_CID INVALID_CONFIDENCE NUMBER_NOT_IN_QUOTE SIZE_CAP_EXCEEDED ");
}

}  // namespace
}  // namespace weir::research
