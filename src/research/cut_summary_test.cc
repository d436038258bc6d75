#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "research/markdown.h"
#include "research/summary.h"
#include "research/white_space.h"

namespace weir::research {
namespace {

// Cut to so many bytes.
std::string cut(std::string_view text, std::size_t bytes) {
  const auto made = cut_summary(text, static_cast<double>(bytes) / 1024);
  return made ? made->text : "(nothing)";
}

TEST(CutSummaryTest, Case22ACutEndsAtASentenceOrItemFitsAndSaysSo) {
  const std::string text = "# T\nFirst one. Second\none. Third.\n\n- item a\n  goes on\n- item b\n";  // 63 bytes
  EXPECT_EQ(cut(text, 61), "# T\nFirst one. Second\none.\n\n[truncated: kept 26 of 63 bytes]\n");
  EXPECT_EQ(cut(text, 60), "# T\nFirst one.\n\n[truncated: kept 14 of 63 bytes]\n");
  EXPECT_EQ(cut(text, 49), "# T\nFirst one.\n\n[truncated: kept 14 of 63 bytes]\n");
  EXPECT_EQ(cut(text, 48), "(nothing)");
  EXPECT_EQ(cut(text, 63), text);
  const auto made = cut_summary(text + std::string(60, 'x'), 100.0 / 1024);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->text, text.substr(0, made->kept) + "\n\n[truncated: kept 53 of 123 bytes]\n");
  EXPECT_EQ(text.substr(0, made->kept), "# T\nFirst one. Second\none. Third.\n\n- item a\n  goes on");
  EXPECT_EQ(made->of, 123u);
}

TEST(CutSummaryTest, Case22HeadingsLeftAtTheEndGoTooAndNothingIsCutInsideAnItemOrFence) {
  const std::string rest(200, 'y');
  EXPECT_EQ(cut("A one.\n\n## Next\n\n### Deeper\n" + rest, 100), "A one.\n\n[truncated: kept 6 of 228 bytes]\n");
  EXPECT_EQ(cut("# Only\n- a. B. C. " + rest, 100), "(nothing)");
  EXPECT_EQ(cut("A one.\n```\nB. C.\n\nD.\n" + rest + "\n```\n", 100), "A one.\n\n[truncated: kept 6 of 226 bytes]\n");
  EXPECT_EQ(cut("A one.\n| b. C. |\n| d |\n" + rest, 100), "A one.\n| b. C. |\n| d |\n\n[truncated: kept 22 of 223 bytes]\n");
}

TEST(CutSummaryTest, TheLineThatSaysSoIsNoClaim) {
  const auto made = cut_summary("Said [@a]. " + std::string(100, 'X'), 80.0 / 1024);
  ASSERT_TRUE(made);
  EXPECT_EQ(check_summary(made->text, "p", Pool(std::vector<Citation>{{"a", "valid"}}), 5, NumberRule::refuse).claims.size(), 1u);
}

std::string any_summary() {
  const auto words = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
      "\n", "\n\n", "\n- ", "One. Two ", "# H\n", "```\n", "\n~~~~\n", "| x |\n", "1. ", " ", "\r\n", "\u00A0", "é。", "word ", "[@a] ",
      "[@", "(confidence: 5) ", "(confidence:", "e.g. ", "12.5", "!\" ", "<<<weir:", "http://"));
  std::string text;
  for (const std::string& word : words) text += word;
  return text;
}

RC_GTEST_PROP(CutSummaryTest, AnyCutFitsIsAPrefixWithTheNoticeAndStaysWhatItIs, ()) {
  const std::string text = any_summary();
  const std::size_t cap = *rc::gen::inRange<std::size_t>(0, text.size() + 10);
  const auto made = cut_summary(text, static_cast<double>(cap) / 1024);
  if (text.size() <= cap) {
    RC_ASSERT(made && made->text == text && made->kept == made->of);
    return;
  }
  if (!made) return;
  RC_ASSERT(made->text.size() <= cap);
  RC_ASSERT(made->of == text.size());
  const std::string kept = text.substr(0, made->kept);
  RC_ASSERT(made->text == kept + fmt::format("\n\n[truncated: kept {} of {} bytes]\n", made->kept, made->of));
  RC_ASSERT(right_trimmed(kept) == kept && !kept.empty());
  RC_ASSERT(cut_summary(made->text, static_cast<double>(cap) / 1024)->text == made->text);
  const auto lines = lines_of(text);
  for (const Unit& unit : units_of(lines)) {
    if (lines[unit.last].end < made->kept || made->kept <= lines[unit.first].begin) continue;
    const bool whole = is_blank(std::string_view(text).substr(made->kept, lines[unit.last].end - made->kept));
    RC_ASSERT(unit.kind == UnitKind::paragraph || (whole && unit.kind != UnitKind::heading));
  }
}

RC_GTEST_PROP(CutSummaryTest, AnyTextCanBeChecked, ()) {
  const std::string text = any_summary();
  const SummaryCheck check = check_summary(text, "p", Pool(std::vector<Citation>{{"a", "valid", "5"}}), 1, NumberRule::refuse);
  for (const Claim& claim : check.claims) RC_ASSERT(!claim.claim.empty() && claim.line >= 1 && claim.line <= lines_of(text).size());
  RC_ASSERT((check.claims.empty()) == (std::find(check.warnings.begin(), check.warnings.end(), "NO_KEY_CLAIMS") != check.warnings.end()));
}

}  // namespace
}  // namespace weir::research
