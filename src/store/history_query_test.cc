#include "store/history_query.h"

#include <gtest/gtest.h>

#include "base/limits.h"
#include "testing/results.h"

namespace weir {
namespace {

using testing::code;
using testing::must;

using Texts = std::vector<std::string_view>;

bool says(std::string_view query, const Texts& texts) {
  HistoryQuery parsed = must(HistoryQuery::words(query));
  return must(parsed.matches(texts, nullptr));
}
bool like(std::string_view pattern, const Texts& texts) {
  HistoryQuery parsed = must(HistoryQuery::regex(pattern));
  return must(parsed.matches(texts, nullptr));
}
// The excerpt with what matched in brackets.
std::string shown(std::string_view query, const Texts& texts) {
  HistoryQuery parsed = must(HistoryQuery::words(query));
  Excerpt excerpt;
  if (!must(parsed.matches(texts, &excerpt))) return "(no match)";
  std::string out;
  std::size_t at = 0;
  for (const auto& [first, last] : excerpt.marks) {
    out += excerpt.text.substr(at, first - at) + "[" + excerpt.text.substr(first, last - first) + "]";
    at = last;
  }
  return out + excerpt.text.substr(at);
}

TEST(HistoryQueryTest, AllWordsMustOccurInAnyOrderAndInAnyString) {
  EXPECT_TRUE(says("posted ledger", {"the ledger entry is posted"}));
  EXPECT_TRUE(says("posted ledger", {"the ledger", "is posted"}));
  EXPECT_FALSE(says("posted ledger", {"the ledgers are posted"}));
  EXPECT_FALSE(says("posted ledger", {}));
}

TEST(HistoryQueryTest, CaseAndAccentsDoNotMatter) {
  EXPECT_TRUE(says("strasse CAFE", {"Straſse? no: STRASSE, Café"}));
  EXPECT_TRUE(says("äpfel", {"APFEL"}));
  EXPECT_TRUE(says("привет", {"ПРИВЕТ, мир"}));
}

TEST(HistoryQueryTest, APhraseStandsAsItIsWithinOneString) {
  EXPECT_TRUE(says("\"entry is posted\"", {"the entry, is -- posted"}));
  EXPECT_FALSE(says("\"entry is posted\"", {"the entry posted is"}));
  EXPECT_FALSE(says("\"entry is\"", {"the entry", "is posted"}));
  EXPECT_TRUE(says("src/main.cc", {"see src/main.cc:12"}));
  EXPECT_FALSE(says("src/main.cc", {"main src cc"}));
}

TEST(HistoryQueryTest, AStarIsTheRestOfAWord) {
  EXPECT_TRUE(says("led*", {"the ledger"}));
  EXPECT_FALSE(says("led", {"the ledger"}));
  EXPECT_TRUE(says("\"the led\"*", {"in the ledger"}));
  EXPECT_FALSE(says("edg*", {"the ledger"}));
}

TEST(HistoryQueryTest, NothingElseHasAMeaning) {
  EXPECT_TRUE(says("cats AND dogs", {"cats and dogs"}));
  EXPECT_FALSE(says("cats OR dogs", {"cats"}));
  EXPECT_FALSE(says("NOT cats", {"dogs"}));
  EXPECT_TRUE(says("NEAR(a b)", {"near a b"}));
  EXPECT_TRUE(says("text:word", {"text word"}));
  EXPECT_TRUE(says("{a} ^b -c +d", {"a b c d"}));
  EXPECT_TRUE(says("it's", {"IT'S"}));
  EXPECT_TRUE(says("\"unclosed words", {"words that are unclosed"}));
}

TEST(HistoryQueryTest, SignsWithoutAWordAreLookedForAsTheyAre) {
  EXPECT_TRUE(says("🎉", {"done 🎉"}));
  EXPECT_FALSE(says("🎉", {"done"}));
  EXPECT_TRUE(says("done 🎉", {"🎉 Done"}));
  EXPECT_TRUE(says("*", {"2 * 3"}));
  EXPECT_FALSE(says("*", {"2 + 3"}));
  EXPECT_TRUE(says("\"", {"a \" b"}));
  EXPECT_TRUE(says("=> x", {"x => y"}));
  EXPECT_EQ(must(HistoryQuery::words("🎉")).expression(), "");
  EXPECT_EQ(must(HistoryQuery::words("done 🎉")).expression(), "\"done\"");
}

TEST(HistoryQueryTest, ExpressionsAreQuotedWordByWord) {
  EXPECT_EQ(must(HistoryQuery::words("a \"b c\" d* a")).expression(), "\"a\" AND \"b c\" AND \"d*\" *");
  EXPECT_EQ(must(HistoryQuery::words("x\"y")).expression(), "\"x\"\"y\"");
  EXPECT_EQ(must(HistoryQuery::words(std::string_view("x\0y", 3))).expression(), "\"x y\"");
  EXPECT_EQ(must(HistoryQuery::regex("a b")).expression(), "");
}

TEST(HistoryQueryTest, ARegularExpressionLooksAtCaseOnlyIfItSaysSo) {
  EXPECT_TRUE(like("led(ger)?\\b", {"The LEDGER is"}));
  EXPECT_FALSE(like("(?-i)ledger", {"The LEDGER is"}));
  EXPECT_TRUE(like("^is$", {"this", "is"}));
  EXPECT_FALSE(like("this.is", {"this", "is"}));
}

TEST(HistoryQueryTest, BadQueriesAreRefused) {
  for (const std::string& query : {std::string(), std::string(" \n\t"), std::string(1, '\0'), std::string("\"\""), std::string("\xff")}) {
    EXPECT_EQ(code(HistoryQuery::words(query)), "INVALID_FIELD") << query;
  }
  for (const char* pattern : {"", "(", "[a", "a{2000}", "\\8", "*"})
    EXPECT_EQ(code(HistoryQuery::regex(pattern)), "INVALID_FIELD") << pattern;
  EXPECT_EQ(code(HistoryQuery::words(std::string(limits::kHistoryQueryBytes + 1, 'x'))), "LIMIT_EXCEEDED");
  std::string many;
  for (std::size_t i = 0; i < limits::kHistoryTerms; ++i) many += "w" + std::to_string(i) + " w0 ";
  EXPECT_EQ(code(HistoryQuery::words(many)), "OK");
  EXPECT_EQ(code(HistoryQuery::words(many + "one_more")), "LIMIT_EXCEEDED");
}

TEST(HistoryQueryTest, TheExcerptShowsTheStringThatSaysMostOfIt) {
  EXPECT_EQ(shown("b c", {"only b here", "c and\n\n  b together"}), "[c] and [b] together");
  EXPECT_EQ(shown("\"b c\" d*", {"a b, c dust"}), "a [b, c] [dust]");
  EXPECT_EQ(shown("z", {"a b"}), "(no match)");
  EXPECT_EQ(shown("é", {"e\xcc\x81 and E"}), "[e\xcc\x81] and [E]");
}

TEST(HistoryQueryTest, ALongTextIsCutAroundItsFirstMatchBetweenCharacters) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "früh ";
  text += "needle ";
  for (int i = 0; i < 100; ++i) text += "spät ";
  const std::string excerpt = shown("needle", {text});
  EXPECT_TRUE(excerpt.starts_with("…früh ")) << excerpt;
  EXPECT_NE(excerpt.find("früh [needle] spät"), std::string::npos) << excerpt;
  EXPECT_TRUE(excerpt.ends_with("…")) << excerpt;
  EXPECT_LT(excerpt.size(), 250u);
}

}  // namespace
}  // namespace weir
