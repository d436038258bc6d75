#include "base/literals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace weir {
namespace {

using Hits = std::vector<std::pair<std::size_t, std::size_t>>;  // end, literal

Hits scan(const std::vector<std::string>& literals, const std::string& text) {
  Hits hits;
  const LiteralSet set(std::vector<std::string_view>(literals.begin(), literals.end()));
  set.scan(text, [&](std::size_t literal, std::size_t end) { hits.emplace_back(end, literal); });
  std::sort(hits.begin(), hits.end());
  return hits;
}

Hits search_one_by_one(const std::vector<std::string>& literals, std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  Hits hits;
  for (std::size_t i = 0; i < literals.size(); ++i) {
    for (std::size_t at = text.find(literals[i]); at != std::string::npos; at = text.find(literals[i], at + 1))
      hits.emplace_back(at + literals[i].size(), i);
  }
  std::sort(hits.begin(), hits.end());
  return hits;
}

TEST(LiteralSetTest, FindsWordsInsideWordsInAnyCase) {
  EXPECT_EQ(scan({"he", "she", "his", "hers"}, "uSHErs"), (Hits{{4, 0}, {4, 1}, {6, 3}}));
}

TEST(LiteralSetTest, FindsOverlappingOccurrences) { EXPECT_EQ(scan({"aa"}, "aAaa"), (Hits{{2, 0}, {3, 0}, {4, 0}})); }

TEST(LiteralSetTest, FoldsAsciiLettersOnly) {
  EXPECT_THAT(scan({"k_"}, "K_"), testing::SizeIs(1));
  EXPECT_THAT(scan({"[a@"}, "{A`[a`{a@"), testing::IsEmpty());
  EXPECT_THAT(scan({"\xc3\xa4"}, "\xc3\x84"), testing::IsEmpty());
}

TEST(LiteralSetTest, AnEmptySetFindsNothing) { EXPECT_THAT(scan({}, "anything"), testing::IsEmpty()); }

TEST(LiteralSetTest, ALiteralThatIsThereTwiceIsFoundTwice) { EXPECT_EQ(scan({"ab", "ab"}, "ab"), (Hits{{2, 0}, {2, 1}})); }

RC_GTEST_PROP(LiteralSetTest, AgreesWithASearchForEachLiteral, ()) {
  // Few letters, so that literals overlap, nest and share beginnings.
  const auto literal = rc::gen::suchThat(rc::gen::resize(5, rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab_\xc3")))),
                                         [](const std::string& text) { return text.size() >= 2; });
  const auto literals = *rc::gen::container<std::vector<std::string>>(literal);
  const auto text = *rc::gen::scale(3.0, rc::gen::container<std::string>(rc::gen::elementOf(std::string("aAbB_x\xc3\xa4"))));
  RC_ASSERT(scan(literals, text) == search_one_by_one(literals, text));
}

}  // namespace
}  // namespace weir
