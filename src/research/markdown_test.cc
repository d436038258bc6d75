#include "research/markdown.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "base/utf8.h"
#include "research/white_space.h"

namespace weir::research {
namespace {

std::string kinds(std::string_view text) {
  std::string out;
  for (const Unit& unit : units_of(lines_of(text))) {
    out += "hitpf"[static_cast<int>(unit.kind)];
    out += "<" + unit.text + ">";
  }
  return out;
}

bool has(std::string_view text, std::string_view section) { return find_section(lines_of(text), section) != kNoLine; }

TEST(LinesTest, LinesEndAtLineFeedsAndLoseOneCarriageReturn) {
  const auto lines = lines_of("a\r\n\nb\r\r\nc");
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0].text, "a");
  EXPECT_EQ(lines[0].end, 3u);
  EXPECT_EQ(lines[1].text, "");
  EXPECT_EQ(lines[2].text, "b\r");
  EXPECT_EQ(lines[3].text, "c");
  EXPECT_EQ(lines[3].end, 9u);
  EXPECT_TRUE(lines_of("").empty());
  EXPECT_EQ(lines_of("a\n").size(), 1u);
}

TEST(UnitsTest, HeadingsItemsTablesParagraphsAndFencesAreToldApart) {
  EXPECT_EQ(kinds("# T\ntext\nmore\n\n- one\n  goes on\n- two\n| a |\n| b |\nafter\n```\n# no\n\n- no\n```\n7) x"),
            "h<# T>p<text more>i<- one   goes on>i<- two>t<| a | | b |>p<after>f<``` # no  - no ```>i<7) x>");
}

TEST(UnitsTest, AnItemNeedsItsMarkerAndWhiteSpaceAtAnyIndent) {
  EXPECT_EQ(kinds("\t\t* a"), "i<\t\t* a>");
  EXPECT_EQ(kinds("123456789. a"), "i<123456789. a>");
  for (const char* line : {"1234567890. a", "-a", "**a**", "---", "1.a", "a) b", "-", "."}) EXPECT_EQ(kinds(line)[0], 'p') << line;
  EXPECT_EQ(item_marker("  12) a"), 6u);
  EXPECT_EQ(item_marker("a"), 0u);
}

TEST(UnitsTest, AFenceIsClosedByAtLeastAsManyOfItsOwnMarkOrNever) {
  EXPECT_EQ(kinds("````\n```\n~~~~\n````x\n`````\na"), "f<```` ``` ~~~~ ````x `````>p<a>");
  EXPECT_EQ(kinds("~~~ js\na\n\nb"), "f<~~~ js a  b>");
  EXPECT_EQ(kinds("    ```\na"), "p<    ``` a>");
  EXPECT_EQ(kinds("```\n```\n```\nx\n```"), "f<``` ```>f<``` x ```>");
}

TEST(UnitsTest, PlacesLeadFromAUnitBackToItsLinesAndBytes) {
  const std::string text = "x\n\nab\r\ncd\n";
  const auto lines = lines_of(text);
  const auto units = units_of(lines);
  UnitPlaces places(lines, units[1]);
  EXPECT_EQ(places.at(0).byte, 3u);
  EXPECT_EQ(places.at(2).line, 2u);
  EXPECT_EQ(places.at(3).line, 3u);
  EXPECT_EQ(text[places.at(4).byte], 'd');
}

TEST(SectionsTest, Case8AHeadingCountsAtAnyLevelWithClosingHashesAndCrlf) {
  for (const char* text :
       {"# Key Findings", "###### Key Findings", "   ## Key Findings ##  \r\nx", "##\tKey Findings", "a\n## Key Findings#\n"})
    EXPECT_TRUE(has(text, " Key Findings ")) << text;
}

TEST(SectionsTest, Case8AHeadingInAFenceOrSplitOrOtherwiseWrittenDoesNotCount) {
  for (const char* text :
       {"```\n## Key Findings\n```", "## Key\nFindings", "##Key Findings", "    ## Key Findings", "####### Key Findings", "## key findings",
        "## Key Findings 2", "Key Findings\n---", "**Key Findings**", "## Key  Findings", "## The Key Findings", "~~~\n## Key Findings"})
    EXPECT_FALSE(has(text, "Key Findings")) << text;
  EXPECT_TRUE(has("## C#", "C#"));
  EXPECT_NE(find_section(lines_of("x\n## sOURCES"), "Sources", Case::any), kNoLine);
}

TEST(WordsTest, TokensCountOneAndMarkupIsAToken) {
  EXPECT_EQ(count_words(""), 0);
  EXPECT_EQ(count_words(" \t\n"), 0);
  EXPECT_EQ(count_words("## Findings\n- a\n- b"), 6);
  EXPECT_EQ(count_words("a\u00A0b\u3000c\uFEFFd\u200Be"), 4);
}

TEST(WordsTest, Case9TenThousandHanCharactersAreTenThousandWords) {
  std::string text;
  for (int i = 0; i < 10000; ++i) text += "文";
  EXPECT_EQ(count_words(text), 10000);
  EXPECT_EQ(count_words("ab文字12"), 3);
  EXPECT_EQ(count_words("สวัสดี"), 2);
  EXPECT_EQ(count_words("カタ。"), 2);
}

TEST(BlankTest, WhiteSpaceIsThatOfEcmaScript) {
  EXPECT_TRUE(is_blank("\t\v\f \u00A0\uFEFF\u2028\u3000\n"));
  EXPECT_FALSE(is_blank("\u200B"));
  EXPECT_EQ(trimmed("\uFEFF\u00A0 a b\u3000 "), "a b");
  EXPECT_EQ(trimmed("\u00A0"), "");
  EXPECT_EQ(trimmed("é"), "é");
  EXPECT_EQ(right_trimmed(" a "), " a");
}

RC_GTEST_PROP(UnitsTest, EveryLineThatIsNotBlankIsInExactlyOneUnit, ()) {
  const auto words = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("\n", "\n", "- ", "a. B", "# ", "```", "~~~~", "| x", "1. ", " ", "\r\n", "\u00A0"));
  std::string text;
  for (const std::string& word : words) text += word;
  const auto lines = lines_of(text);
  std::size_t next = 0;
  for (const Unit& unit : units_of(lines)) {
    for (; next < unit.first; ++next) RC_ASSERT(is_blank(lines[next].text));
    RC_ASSERT(unit.last < lines.size());
    next = unit.last + 1;
  }
  for (; next < lines.size(); ++next) RC_ASSERT(is_blank(lines[next].text));
  std::string whole;
  for (const Line& line : lines) whole += text.substr(line.begin, line.end - line.begin);
  RC_ASSERT(whole == text);
}

}  // namespace
}  // namespace weir::research
