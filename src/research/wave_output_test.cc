#include "research/wave_output.h"

#include <gtest/gtest.h>

#include "json/canonical.h"
#include "json/error_value.h"
#include "json/parse.h"
#include "testing/results.h"
#include "testing/upstream_cases.h"

namespace weir::research {
namespace {

using testing::must;

std::string name(const Failure& failure) { return std::string(info(failure.error.code()).name); }

std::string details(const Error& error) {
  json::Arena arena;
  return json::canonical(json::details_value(error, arena));
}

std::string codes(const OutputCheck& check) {
  std::string out;
  for (const Failure& failure : check.failures) out += name(failure) + " ";
  return out;
}

std::string warnings(const OutputCheck& check) {
  std::string out;
  for (const std::string& warning : check.warnings) out += warning + " ";
  return out;
}

constexpr std::string_view kContract =
    R"({"max_words":900,"max_sources":3,"tool_budget":{"search_calls":4},"must_include_sections":["Findings","Sources"]})";

OutputCheck check(std::string_view text, std::string_view contract = kContract, std::string_view usage = "{}") {
  json::Parser contracts, usages;
  const json::Value used = must(usages.parse(usage));
  return check_output(text, must(contracts.parse(contract)), &used);
}

const json::Value* perspective(const json::Value& document, std::string_view id) {
  for (const json::Value& one : document.find("perspectives")->items()) {
    if (one.text_or("id", "") == id) return &one;
  }
  return nullptr;
}

// Every member that was recorded is answered alike; there may be more.
void expect_members(const json::Value& recorded, const json::Value& answered) {
  for (const json::Member& member : recorded.members()) {
    if (member.key == "sidecar_path") continue;  // a path of the machine it was recorded on
    const json::Value* found = answered.find(member.key);
    ASSERT_NE(found, nullptr) << member.key;
    EXPECT_EQ(json::canonical(*found), json::canonical(member.value)) << member.key;
  }
}

void expect_case(const json::Value& one) {
  const json::Value& files = *one.find("files");
  const json::Value& result = *one.find("result");
  json::Parser perspectives, meta;
  const json::Value document = must(perspectives.parse(files.text_or("perspectives.json", "")));
  const json::Value* known = perspective(document, one.find("args")->text_or("perspective_id", ""));
  if (known == nullptr) {
    EXPECT_EQ(result.find("error")->text_or("code", ""), "PERSPECTIVE_NOT_FOUND");  // the caller's to say
    return;
  }
  json::Value sidecar;
  if (files.find("wave-1/p1.meta.json") != nullptr) sidecar = must(meta.parse(files.text_or("wave-1/p1.meta.json", "")));
  const OutputCheck got = check_output(files.text_or("wave-1/p1.md", ""), *known->find("prompt_contract"), sidecar.find("tool_usage"));
  if (result.find("ok")->boolean()) {
    EXPECT_EQ(codes(got), "");
    EXPECT_EQ(got.words, result.find("words")->integer());
    EXPECT_EQ(got.sources, result.find("sources")->integer());
    EXPECT_TRUE(got.missing_sections.empty());
    return;
  }
  const json::Value& error = *result.find("error");
  ASSERT_FALSE(got.failures.empty());
  EXPECT_EQ(name(got.failures[0]), error.text_or("code", ""));
  const json::Value* other = one.find("weir")->find("message");  // its own, where it differs
  EXPECT_EQ(got.failures[0].error.message(), other == nullptr ? error.text_or("message", "") : other->text());
  json::Arena arena;
  expect_members(*error.find("details"), json::details_value(got.failures[0].error, arena));
}

TEST(WaveOutputTest, RecordedCasesAreAnsweredAlike) {
  int count = 0;
  for (const testing::UpstreamCase& one : testing::upstream_cases("wave_output_validate")) {
    SCOPED_TRACE(one.id);
    ++count;
    expect_case(one.line);
    if (one.id == "tool_usage_unbudgeted_tool_ignored") {
      EXPECT_EQ(warnings(check("# Findings\n# Sources\n- http://a", kContract, R"({"shell_calls":9999})")), "UNBUDGETED_TOOL ");
    }
  }
  EXPECT_EQ(count, 18);
}

TEST(WaveOutputTest, Case7AllFailuresAreListedInTheOrderOfTheChecks) {
  const OutputCheck got =
      check("# sources\nsee below\n- no link\n- http://a http://b\n1. https://c\n* https://d\none two",
            R"({"max_words":5,"max_sources":1,"tool_budget":{"a":-1,"b":2,"c":"3"},"must_include_sections":["Findings","sources"]})",
            R"({"a":1,"b":3,"c":"x","d":1})");
  EXPECT_EQ(codes(got),
            "INVALID_TOOL_BUDGET INVALID_TOOL_BUDGET MISSING_REQUIRED_SECTION TOO_MANY_WORDS MALFORMED_SOURCES MALFORMED_SOURCES "
            "MALFORMED_SOURCES "
            "TOO_MANY_SOURCES INVALID_TOOL_USAGE TOOL_BUDGET_EXCEEDED ");
  EXPECT_EQ(details(got.failures[0].error), R"({"limit":-1,"tool":"a"})");
  EXPECT_EQ(details(got.failures[1].error), R"({"limit":"3","tool":"c"})");
  EXPECT_EQ(details(got.failures[2].error), R"({"missing_sections":["Findings"],"section":"Findings"})");
  EXPECT_EQ(details(got.failures[3].error), R"({"excess":11,"max_words":5,"words":16})");
  EXPECT_EQ(details(got.failures[4].error), R"({"line":"see below","line_number":2,"reason":"NOT_BULLET"})");
  EXPECT_EQ(details(got.failures[5].error), R"({"line":"- no link","line_number":3,"reason":"MISSING_URL"})");
  EXPECT_EQ(details(got.failures[7].error), R"({"max_sources":1,"sources":4})");
  EXPECT_EQ(details(got.failures[8].error), R"({"recorded":"x","tool":"c"})");
  EXPECT_EQ(got.failures[8].error.message(), "tool_usage entries must be non-negative numbers");
  EXPECT_EQ(details(got.failures[9].error), R"({"limit":2,"recorded":3,"tool":"b"})");
  EXPECT_EQ(warnings(got), "UNBUDGETED_TOOL ");
}

TEST(WaveOutputTest, NotesSayWhatToDo) {
  const OutputCheck got =
      check("a b c d\n# Sources\nx\n- http://a http://b",
            R"({"max_words":5,"max_sources":1,"tool_budget":{"search_calls":4},"must_include_sections":["Findings","Gaps","Sources"]})",
            R"({"search_calls":"5"})");
  ASSERT_EQ(got.failures.size(), 5u);
  EXPECT_EQ(got.failures[0].note, "Add the missing section(s): Findings, Gaps");
  EXPECT_EQ(got.failures[1].note, "Use at most 5 words; this has 10 (5 too many)");
  EXPECT_EQ(got.failures[2].note, "Sources line 3 is not a bullet with a URL");
  EXPECT_EQ(got.failures[3].note, "Keep at most 1 sources; found 2");
  EXPECT_EQ(got.failures[4].note, "search_calls: 5 used, 4 allowed");
}

TEST(WaveOutputTest, Case8ARequiredHeadingInAFenceIsMissing) {
  EXPECT_EQ(codes(check("```\n## Findings\n```\n## Sources\n- http://a")), "MISSING_REQUIRED_SECTION ");
  EXPECT_EQ(codes(check("# Findings #\r\n###### Sources\r\n- http://a\r\n")), "");
}

TEST(WaveOutputTest, Case9FourUrlsInOneBulletAreFourSources) {
  const OutputCheck got = check("# Findings\n# Sources\n- http://a http://b http://c http://d http://a");
  EXPECT_EQ(got.sources, 4);
  EXPECT_EQ(codes(got), "TOO_MANY_SOURCES ");
}

TEST(WaveOutputTest, Case10LowerCaseSourcesAreCheckedAndYieldTheirUrls) {
  json::Parser parser;
  const json::Value contract =
      must(parser.parse(R"({"max_words":900,"max_sources":12,"tool_budget":{},"must_include_sections":["sources"]})"));
  const std::string text =
      "## sources\n\n- Foo (https://en.wikipedia.org/wiki/Foo_(bar))\n- http://b and http://c\n## Sources\n- http://no";
  EXPECT_EQ(check_output(text, contract, nullptr).sources, 3);
  const auto urls = source_urls(text, contract);
  ASSERT_EQ(urls.size(), 3u);
  EXPECT_EQ(urls[0].url, "https://en.wikipedia.org/wiki/Foo_(bar)");
  EXPECT_EQ(urls[0].line, "- Foo (https://en.wikipedia.org/wiki/Foo_(bar))");
  EXPECT_EQ(urls[0].ordinal, 1);
  EXPECT_EQ(urls[2].url, "http://c");
  EXPECT_EQ(urls[2].ordinal, 2);
}

TEST(WaveOutputTest, AContractWithoutSourcesStillYieldsTheUrlsUnderSuchAHeading) {
  json::Parser parser;
  const json::Value contract = must(parser.parse(R"({"must_include_sections":["Findings"]})"));
  EXPECT_EQ(source_urls("# SOURCES\nsee http://a\n* http://b", contract).size(), 2u);
  EXPECT_EQ(source_urls("# SOURCES\nsee http://a\n* http://b", contract)[1].ordinal, 1);
  EXPECT_TRUE(source_urls("# Links\n- http://a", contract).empty());
}

TEST(WaveOutputTest, WarningsTellOfEmptySourcesAndAMissingReport) {
  EXPECT_EQ(warnings(check("# Findings\n# Sources\n\n# Gaps\n- x", kContract, "null")), "SOURCES_EMPTY TOOL_USAGE_MISSING ");
  const OutputCheck none = check("# Findings\n# Sources\n", kContract, "[1]");
  EXPECT_EQ(codes(none), "INVALID_TOOL_USAGE ");
  EXPECT_EQ(none.failures[0].error.message(), "tool_usage must be an object");
  EXPECT_EQ(details(none.failures[0].error), R"({"recorded":[1]})");
  EXPECT_EQ(codes(check("# Findings\n# Sources\n", kContract, R"({"search_calls":-1})")), "INVALID_TOOL_USAGE ");
  EXPECT_EQ(codes(check("# Findings\n# Sources\n", kContract, R"({"search_calls":4})")), "");
}

TEST(WaveOutputTest, OfOneKindOnlySoManyAreListed) {
  std::string text = "# Findings\n# Sources\n";
  for (int i = 0; i < 5000; ++i) text += "x\n";
  const OutputCheck got = check(text);
  EXPECT_EQ(got.failures.size(), kListed + 1);  // and too many words
}

}  // namespace
}  // namespace weir::research
