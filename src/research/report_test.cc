#include "research/report.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "json/canonical.h"
#include "json/error_value.h"

namespace weir::research {
namespace {

const Pool& pool() {
  static const Pool pool({{"a", "valid", "x\n9"}, {"b", "valid"}, {"c", "paywalled"}, {"out", "valid"}, {"bad", "invalid"}});
  return pool;
}

constexpr std::string_view kHeads = "# Summary\n# Key Findings\n# Evidence\n# Caveats\n";  // 4 lines
constexpr std::string_view kBundle = "<<<weir:end>>>\nfell by 12% [@a]\n\"snippet\":\"x\\n9\"\n";

ReportCheck check(const std::string& body) { return check_report(std::string(kHeads) + body, {"a", "b", "c"}, kBundle, pool()); }

std::string findings(const ReportCheck& check) {
  std::string out;
  json::Arena arena;
  for (const Error& one : check.findings)
    out += fmt::format("{} {}\n", info(one.code()).name, json::canonical(json::details_value(one, arena)));
  return out;
}

std::string warnings(const ReportCheck& check) { return fmt::format("{}", fmt::join(check.warnings, " ")); }

TEST(ReportTest, AReportThatCitesItsBundlePasses) {
  const ReportCheck got = check("It fell by 12% [@a; @b].\n\n- and 9 [@c]\n");
  EXPECT_EQ(findings(got), "");
  EXPECT_EQ(warnings(got), "");
  EXPECT_EQ(got.sections_present, 100);
  EXPECT_EQ(got.utilization, 1);
  EXPECT_EQ(got.duplication, 0);
  EXPECT_EQ(got.cited, (std::vector<std::string>{"a", "b", "c"}));
}

TEST(ReportTest, Case32CidsOutsideTheBundleAreFoundWithTheirLinesAndNonePasses) {
  const ReportCheck got = check("x [@phantom; @a; @phantom]\n\ny [@bad]\nz [@out] [@phantom]\n");
  EXPECT_EQ(findings(got),
            "UNKNOWN_CID {\"cid\":\"phantom\",\"in_pool\":false,\"line\":5}\n"
            "UNKNOWN_CID {\"cid\":\"bad\",\"in_pool\":false,\"line\":7}\n"
            "UNKNOWN_CID {\"cid\":\"out\",\"in_pool\":true,\"line\":8}\n"
            "UNKNOWN_CID {\"cid\":\"phantom\",\"in_pool\":false,\"line\":8}\n");
  EXPECT_EQ(got.cited, std::vector<std::string>{"a"});
}

TEST(ReportTest, Case32NoCidOrARawUrlIsFound) {
  EXPECT_EQ(findings(check("nothing [@ a]")), "MISSING_CITATIONS {}\n");
  EXPECT_EQ(warnings(check("nothing [@ a]")), "LOW_UTILIZATION MALFORMED_MENTION");
  EXPECT_EQ(findings(check("x [@a]\n```\nwww.x.org\n```\nHTTP://y")),
            "RAW_URL_NOT_ALLOWED {\"line\":7}\nRAW_URL_NOT_ALLOWED {\"line\":9}\n");
}

TEST(ReportTest, MissingSectionsAreFoundOneByOneAndFirst) {
  const ReportCheck got = check_report("## Summary\n```\n## Evidence\n```\n## Caveats ##\n7", {"a"}, "", pool());
  EXPECT_EQ(findings(got),
            "MISSING_REQUIRED_SECTION {\"section\":\"Key Findings\"}\nMISSING_REQUIRED_SECTION {\"section\":\"Evidence\"}\n"
            "MISSING_CITATIONS {}\nUNCITED_NUMBER {\"line\":6,\"number\":\"7\"}\n");
  EXPECT_EQ(got.sections_present, 50);
}

TEST(ReportTest, Case33HeadingsAndNamesHaveNoUncitedNumbersButItemsDo) {
  EXPECT_EQ(findings(check("# Report 2026\nHTTP3 and v2 [@a].\n\nHTTP3 and v2.\n```\n99\n```\n")), "");
  EXPECT_EQ(findings(check("- costs 7\n- cites [@a]\n")), "UNCITED_NUMBER {\"line\":5,\"number\":\"7\"}\n");
  EXPECT_EQ(findings(check("[@a]\n\n1. costs 99\n")), "UNCITED_NUMBER {\"line\":7,\"number\":\"99\"}\n");
  EXPECT_EQ(findings(check("x [@a]\n| 1 |\n| 2 | [@b]\n\n3\nand 4 [@out]")),
            "UNKNOWN_CID {\"cid\":\"out\",\"in_pool\":true,\"line\":10}\n"
            "UNCITED_NUMBER {\"line\":9,\"number\":\"3\"}\nUNCITED_NUMBER {\"line\":10,\"number\":\"4\"}\n");
}

TEST(ReportTest, FiguresOfUseAndRepetitionAreReportedAndWarnedOf) {
  const ReportCheck got = check("12 [@a] [@a] 13 and 14, not 13 [@a].\n");
  EXPECT_EQ(got.utilization, 0.333333);
  EXPECT_EQ(got.duplication, 0.666667);
  EXPECT_EQ(got.numbers_not_in_input, 2);
  EXPECT_EQ(got.uncited_numbers, 0);
  EXPECT_EQ(warnings(got), "LOW_UTILIZATION HIGH_DUPLICATION NUMBER_NOT_IN_INPUT");
  EXPECT_EQ(warnings(check_report(std::string(kHeads) + "[@a] [@b] [@c] [@a] [@b]", {"a", "b", "c", "d", "e"}, "", pool())),
            "HIGH_DUPLICATION");  // 0.6 used, 0.4 again
  EXPECT_EQ(warnings(check_report(std::string(kHeads) + "[@a] [@b] [@c] [@d] [@d]", {"a", "b", "c", "d", "e"}, "", pool())), "");
}

RC_GTEST_PROP(ReportTest, AnyTextCanBeChecked, ()) {
  const auto words = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("\n", "\n\n", "- ", "# Summary\n", "```", "| ", "[@a] ", "[@b", "; @c]", "12", ".5", ",000", " ", "é",
                                    "文", "`", "http", "://", "www.", "x", "(confidence: ", "5)"));
  std::string text;
  for (const std::string& word : words) text += word;
  const ReportCheck got = check_report(text, {"a", "b", "c"}, text, pool());
  RC_ASSERT(got.numbers_not_in_input == 0 || text.find('\n') != std::string::npos);
  RC_ASSERT(got.utilization >= 0 && got.utilization <= 1 && got.duplication >= 0 && got.duplication <= 1);
  RC_ASSERT(got.cited.size() <= 3);
}

}  // namespace
}  // namespace weir::research
