// What agents hand in may be anything: every check must read it, in time that grows with its size and no faster.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>

#include "base/utf8.h"
#include "json/parse.h"
#include "research/report.h"
#include "research/summary.h"
#include "testing/effort.h"
#include "testing/results.h"

namespace weir::research {
namespace {

constexpr std::string_view kContract = R"({"max_words":9,"max_sources":1,"tool_budget":{},"must_include_sections":["Sources"]})";

void check_all(const std::string& text, double kb) {
  const Pool pool(std::vector<Citation>{{"a", "valid", "9"}, {"b", "valid"}});
  json::Parser parser;
  const json::Value contract = testing::must(parser.parse(kContract));
  (void)check_summary(text, "p", pool, kb, NumberRule::refuse);
  (void)cut_summary(text, kb);
  (void)check_report(text, {"a"}, text, pool);
  (void)check_output(text, contract, nullptr);
  (void)source_urls(text, contract);
}

TEST(AnyTextTest, LongTextsOfOnePieceAreReadAtOnce) {
  const std::size_t size = (std::size_t{1} << 18) / testing::one_in(20);
  for (const std::string_view piece : {"[",
                                       "[@",
                                       "(",
                                       "(confidence:",
                                       "(confidence: 5",
                                       "7",
                                       "1,",
                                       "1,111",
                                       ".",
                                       ". ",
                                       ".\" ",
                                       "a\n\n",
                                       "- [@a]\n",
                                       "`",
                                       "``` ",
                                       "`` `",
                                       "7 ",
                                       "www",
                                       "a:",
                                       "a.a",
                                       "  ",
                                       "x\n",
                                       "\n",
                                       "文",
                                       "- 1\n",
                                       "[@a; ",
                                       "<<<weir:\n",
                                       "~~~\n",
                                       "#",
                                       "# ",
                                       "# x\n",
                                       "| x |\n",
                                       "    \n-\t",
                                       "[@a] 1. ",
                                       "[@a] (confidence: 500) "}) {
    std::string text = "# Sources\n- x [@a] ";
    while (text.size() < size) text += piece;
    const auto begin = std::chrono::steady_clock::now();
    check_all(text, static_cast<double>(size) / 2048);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(3)) << piece;
  }
}

RC_GTEST_PROP(AnyTextTest, TextsOfAnyCharactersAreRead, (const std::vector<std::uint32_t>& numbers)) {
  std::string text;
  for (const std::uint32_t number : numbers) {
    const char32_t c = number % 0x110000;
    append_utf8(text, (c >= 0xD800 && c <= 0xDFFF) || number % 2 == 0 ? " \n.-#`[@](:;a1,)|"[number % 17] : c);
  }
  check_all(text, static_cast<double>(text.size()) / 2048);
}

}  // namespace
}  // namespace weir::research
