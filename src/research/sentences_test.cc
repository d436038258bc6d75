#include "research/sentences.h"

#include <gtest/gtest.h>

#include <string>

namespace weir::research {
namespace {

std::string cut(std::string_view text) {
  std::string out;
  std::size_t begin = 0;
  for (const std::size_t end : sentence_ends(text, marks_in(text))) {
    out.append(text.substr(begin, end - begin)).append("|");
    begin = end;
  }
  return out;
}

TEST(SentencesTest, AStopBeforeWhiteSpaceEndsASentenceUnlessALowerCaseLetterFollows) {
  EXPECT_EQ(cut("One. Two! Three? four. 5 is."), "One.| Two!| Three? four.| 5 is.|");
  EXPECT_EQ(cut("It cost 1.5 of a.b units. And so on... then more"), "It cost 1.5 of a.b units.| And so on... then more|");
  EXPECT_EQ(cut("no stop"), "no stop|");
  EXPECT_EQ(cut("Ends.  "), "Ends.|");
  EXPECT_EQ(cut(""), "");
}

TEST(SentencesTest, ClosingQuotesBracketsMentionsAndMarksBelongToTheSentenceBefore) {
  EXPECT_EQ(cut("(He said \"no.\") Then. [@a] (confidence: 7.5) [@b; @c] Next [@d]. Last"),
            "(He said \"no.\")| Then. [@a] (confidence: 7.5) [@b; @c]| Next [@d].| Last|");
  EXPECT_EQ(cut("One.[@a] Two. [@b] goes on."), "One.[@a]| Two. [@b] goes on.|");
  EXPECT_EQ(cut("It “works.” Yes. (confidence: 5. )"), "It “works.”| Yes. (confidence: 5. )|");
}

TEST(SentencesTest, AbbreviationsAndSingleLettersEndNone) {
  EXPECT_EQ(cut("Dr. A. Smith, Prof. B vs. C, see Fig. 3, e.g. No. 7, i.e. St. X approx. Y."),
            "Dr. A. Smith, Prof. B vs. C, see Fig. 3, e.g. No. 7, i.e. St. X approx. Y.|");
  EXPECT_EQ(cut("The answer is no. In step 5. Was it B? Yes."), "The answer is no.| In step 5.| Was it B?| Yes.|");
}

TEST(SentencesTest, FullWidthStopsNeedNoWhiteSpace) {
  EXPECT_EQ(cut("增长12%。[@a]下一句！「好。」完"), "增长12%。[@a]|下一句！|「好。」|完|");
}

}  // namespace
}  // namespace weir::research
