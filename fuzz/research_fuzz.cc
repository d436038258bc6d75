// Any text as an output, a summary, a report and a URL, and any JSON as the documents of a research run: every check answers,
// and what it says holds together.
#include <algorithm>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "fuzz.h"
#include "json/canonical.h"
#include "json/parse.h"
#include "research/figures.h"
#include "research/markdown.h"
#include "research/report.h"
#include "research/schema.h"
#include "research/summary.h"
#include "research/t_order.h"
#include "research/url.h"
#include "research/wave_output.h"
#include "research/white_space.h"

namespace weir::research {
namespace {

void expect(bool holds, const char* what, std::string_view text) {
  if (!holds) fuzz::expect_equal(what, text, "");
}

// Every line that says something is in one unit, and units stand in the order of their lines.
void check_units(std::string_view text) {
  const std::vector<Line> lines = lines_of(text);
  std::size_t next = 0;
  for (const Unit& unit : units_of(lines)) {
    expect(unit.first >= next && unit.last >= unit.first && unit.last < lines.size(), "a unit's lines", text);
    for (; next < unit.first; ++next) expect(is_blank(lines[next].text), "a line in no unit", text);
    next = unit.last + 1;
  }
  for (; next < lines.size(); ++next) expect(is_blank(lines[next].text), "a last line in no unit", text);
  expect(count_words(text) >= 0, "words", text);
}

void check_numbers(std::string_view text) {
  for (const std::string& number : numbers_in(text)) {
    const auto again = numbers_in(number);
    fuzz::expect_equal("a number's normal form", again.size() == 1 ? again[0] : "(none)", number);
  }
}

Pool pool() {
  return Pool({{"a", "valid", "12% of 1,000 in 3.50 s", {}, {}}, {"b", "paywalled", {}, {}, {}}, {"c", "blocked", "7", {}, {}}});
}

void check_claims(std::string_view text) {
  const std::size_t lines = lines_of(text).size();
  const SummaryCheck got = check_summary(text, "p1", pool(), 1, NumberRule::refuse);
  for (const Claim& claim : got.claims) {
    expect(!is_blank(claim.claim) && !claim.cids.empty(), "a claim without words or cids", text);
    expect(claim.confidence >= 0 && claim.confidence <= 100, "a confidence", text);
    expect(claim.line >= 1 && claim.line <= lines, "a claim's line", text);
    for (const std::string& cid : claim.cids) {
      expect(std::find(got.mentioned.begin(), got.mentioned.end(), cid) != got.mentioned.end(), "a cid that is not mentioned", text);
    }
  }
  expect(std::is_sorted(got.mentioned.begin(), got.mentioned.end(), TLess()), "mentioned cids in order", text);
  const SummaryCheck warned = check_summary(text, "p1", pool(), 1, NumberRule::warn);
  expect(warned.claims.size() == got.claims.size() && warned.failures.size() <= got.failures.size(), "numbers warned of", text);
}

void check_cut(std::string_view text) {
  for (const double kb : {0.05, static_cast<double>(text.size()) / 2048, static_cast<double>(text.size()) / 1100}) {
    const auto cut = cut_summary(text, kb);
    if (!cut) continue;
    expect(cut->text.size() <= cap_bytes(kb), "a cut text over its cap", text);
    fuzz::expect_equal("a text cut twice", cut_summary(cut->text, kb)->text, cut->text);
    fuzz::expect_equal("the kept part", cut->text.substr(0, cut->kept), text.substr(0, cut->kept));
  }
}

void check_texts(std::string_view text) {
  json::Parser parser, usage;
  const auto contract =
      parser.parse(R"({"max_words":20,"max_sources":2,"tool_budget":{"a":1,"b":-1},"must_include_sections":["Findings","Sources"]})");
  const auto used = usage.parse(R"({"a":2,"c":"3"})");
  const OutputCheck output = check_output(text, *contract, &*used);
  expect(output.words >= 0 && output.sources >= 0, "words and sources", text);
  const auto urls = source_urls(text, *contract);
  expect(output.sources <= static_cast<std::int64_t>(std::count(text.begin(), text.end(), ':')), "sources without a scheme", text);
  for (const SourceUrl& url : urls) expect(url.url.starts_with("http") && url.ordinal >= 1, "a source's URL", text);
  const ReportCheck report = check_report(text, {"a", "b"}, "1 2 3", pool());
  expect(report.utilization >= 0 && report.utilization <= 1 && report.duplication >= 0 && report.duplication <= 1, "rates", text);
  expect(report.cited.size() <= 2 && report.numbers_not_in_input >= 0, "a report's figures", text);
  const std::string masked = mask_queries(text);
  fuzz::expect_equal("queries masked twice", mask_queries(masked), masked);
}

void check_url(std::string_view text) {
  const auto url = normalise_url(text);
  if (!url.ok()) return;
  fuzz::expect_equal("a cid", url->cid, cid_of(url->normal));
  const auto again = normalise_url(url->shown);
  if (!again.ok()) return fuzz::expect_equal("what is shown is no URL", url->shown, "");
  fuzz::expect_equal("the normal form of what is shown", again->normal, url->normal);
  fuzz::expect_equal("what is shown of what is shown", again->shown, url->shown);
  expect(!again->user_info, "user info is shown", url->shown);
}

void check_document(const json::Value& value) {
  SchemaErrors read, all;
  std::vector<std::string> warnings;
  check_perspectives(value, Pass::read, {.run_id = "r"}, read, warnings);
  check_perspectives(value, Pass::write, {.run_id = "r"}, all, warnings);
  expect(all.list().size() >= read.list().size(), "errors of both passes", "");
  check_manifest(value, all);
  check_gates(value, all);
  check_citation(value, "$", all);
  check_pack(value, "r", all);
  check_limits(value, all);
  for (const SchemaErrors::One& error : all.list()) expect(error.path.starts_with("$"), "an error's path", error.path);
  json::Parser parser;
  const std::string canonical = json::canonical(value);
  for (const Document which : {Document::manifest, Document::gates, Document::perspectives, Document::citation, Document::pack}) {
    const auto back = parser.parse(json::write_document(value, layout_of(which)));
    fuzz::expect_equal("a document laid out", back.ok() ? json::canonical(*back) : back.error().message(), canonical);
  }
  const auto back = parser.parse(upstream_text(value));
  fuzz::expect_equal("upstream's text", back.ok() ? json::canonical(*back) : back.error().message(), canonical);
}

void check(std::string_view text) {
  check_units(text);
  check_claims(text);
  check_cut(text);
  check_texts(text);
  check_url(text);
  if (valid_utf8(text)) {
    check_numbers(text);
    const std::string_view half = utf8_prefix(text, text.size() / 2);
    expect((compare_t(half, text) < 0) == (compare_t(text, half) > 0), "T-order both ways", text);
  }
  json::Parser parser;
  if (const auto value = parser.parse(text); value.ok()) check_document(*value);
}

}  // namespace
}  // namespace weir::research

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weir::research::check(weir::fuzz::text_of(data, size));
  return 0;
}
