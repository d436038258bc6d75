#include "research/t_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace weir::research {
namespace {

TEST(TOrderTest, PunctuationComesBeforeDigitsAndDigitsBeforeLetters) {
  std::vector<std::string> words = {"b1", "b_x", "B", "b", "a", "A", "$", "9", "~", " ", "é", "z", "日", "\x7f", "\n"};
  std::sort(words.begin(), words.end(), TLess());
  EXPECT_EQ(words, (std::vector<std::string>{" ", "~", "$", "9", "a", "A", "b", "B", "b_x", "b1", "z", "\n", "\x7f", "é", "日"}));
}

TEST(TOrderTest, TheFirstDifferenceOfCaseDecidesOnlyBetweenTextsThatAreElseEqual) {
  EXPECT_LT(compare_t("aB", "Ab"), 0);
  EXPECT_LT(compare_t("AB", "abc"), 0);
  EXPECT_GT(compare_t("Ab", "aB"), 0);
  EXPECT_LT(compare_t("Aa", "ab"), 0);
  EXPECT_EQ(compare_t("Ab é", "Ab é"), 0);
  EXPECT_LT(compare_t("", "a"), 0);
}

}  // namespace
}  // namespace weir::research
