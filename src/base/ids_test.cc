#include "base/ids.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unordered_set>

namespace weir {
namespace {

using Texts = std::vector<std::string>;

template <typename Name>
void expect_refused(const Texts& bad) {
  for (const std::string& text : bad) {
    const auto parsed = Name::parse(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().code(), ErrorCode::INVALID_FIELD) << text;
  }
}

template <typename Name>
void expect_kept(const Texts& good) {
  for (const std::string& text : good) {
    const auto parsed = Name::parse(text);
    ASSERT_TRUE(parsed.ok()) << text;
    EXPECT_EQ(parsed->str(), text);
  }
}

TEST(SessionIdTest, BeginsWithALetterOrDigitAndHasAtMost128Characters) {
  expect_kept<SessionId>({"a", "Z", "0", "demo", "A.b_c-d", "0.-_", std::string(128, 'x')});
  expect_refused<SessionId>({"", "-a", ".a", "_a", "a b", "a/b", "a:b", "a\n", "\xc3\xa4", std::string("a\0", 2), std::string(129, 'x')});
}

TEST(HeadNameTest, FollowsTheRuleOfSessionIds) {
  expect_kept<HeadName>({"main", "try-2", std::string(128, 'x')});
  expect_refused<HeadName>({"", "-", "a~1", std::string(129, 'x')});
}

TEST(EntryIdTest, TakesAnyTextWithoutWhiteSpaceOrControlCharacters) {
  expect_kept<EntryId>({"e12345678", "l1", "a~2", "\xc3\xa4/:*", "\xf0\x9f\x98\x80", std::string(256, 'x')});
  expect_refused<EntryId>({"", " ", "a b", "a\tb", "a\x7f", std::string("a\0", 2), "\xc2\x85", "\xc2\xa0", "\xe2\x80\xa8", "\xe3\x80\x80",
                           "\xff", "\xc3", "\xed\xa0\x80", std::string(257, 'x')});
}

TEST(EntryIdTest, CountsBytesNotCharacters) {
  std::string text;
  for (int i = 0; i < 128; ++i) text += "\xc3\xa4";
  expect_kept<EntryId>({text});
  expect_refused<EntryId>({text + "x"});
}

TEST(EntryTypeTest, Has1To64OfTheSafeCharacters) {
  expect_kept<EntryType>({"message", "research:plan", "A.b_c-d:9", "-", std::string(64, 'x')});
  expect_refused<EntryType>({"", "a b", "a/b", "\xc3\xa4", std::string(65, 'x')});
}

TEST(NameTest, TheErrorSaysTheRuleAndWhatWasGiven) {
  EXPECT_EQ(SessionId::parse("a/b").error().message(),
            "a session id is a letter or digit, then at most 127 of A-Z a-z 0-9 . _ -, not 'a/b'");
  EXPECT_EQ(EntryType::parse("").error().message(), "an entry type is 1 to 64 of A-Z a-z 0-9 . _ : -, not ''");
}

TEST(NameTest, TheErrorIsPrintableWhateverWasGiven) {
  const std::string message = EntryId::parse("\x1b[2J\xff " + std::string(300, 'x')).error().message();
  EXPECT_THAT(message, testing::HasSubstr("not '\\x1b[2J\\xff xxx"));
  EXPECT_LT(message.size(), 200u);
  std::string umlauts;
  for (int i = 0; i < 200; ++i) umlauts += "\xc3\xa4";
  EXPECT_THAT(SessionId::parse("x" + umlauts).error().message(), testing::EndsWith("\xc3\xa4'"));
}

TEST(NameTest, ComparesAndHashesByItsText) {
  const SessionId a = SessionId::trusted("a"), b = SessionId::trusted("b");
  EXPECT_LT(a, b);
  EXPECT_EQ(a, *SessionId::parse("a"));
  EXPECT_TRUE(SessionId().empty());
  EXPECT_EQ((std::unordered_set<SessionId>{a, b, *SessionId::parse("a")}.size()), 2u);
}

}  // namespace
}  // namespace weir
