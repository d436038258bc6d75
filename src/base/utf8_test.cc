#include "base/utf8.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

namespace weir {
namespace {

std::string utf8(char32_t c) {
  std::string out;
  append_utf8(out, c);
  return out;
}

TEST(Utf8Test, EveryScalarValueComesBack) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    const std::string text = utf8(c);
    std::size_t at = 0;
    const auto back = decode_utf8(text, at);
    ASSERT_TRUE(back && *back == c && at == text.size()) << static_cast<std::uint32_t>(c);
  }
}

TEST(Utf8Test, KnownCharactersHaveTheirKnownBytes) {
  EXPECT_EQ(utf8(U'a'), "a");
  EXPECT_EQ(utf8(0x7F), "\x7f");
  EXPECT_EQ(utf8(0x80), "\xc2\x80");
  EXPECT_EQ(utf8(0x7FF), "\xdf\xbf");
  EXPECT_EQ(utf8(0x800), "\xe0\xa0\x80");
  EXPECT_EQ(utf8(0xFFFF), "\xef\xbf\xbf");
  EXPECT_EQ(utf8(0x10000), "\xf0\x90\x80\x80");
  EXPECT_EQ(utf8(0x10FFFF), "\xf4\x8f\xbf\xbf");
}

TEST(Utf8Test, WhatIsNotUtf8IsRefusedAndOneByteIsPassed) {
  const std::vector<std::string> bad = {
      "\x80",
      "\xbf",  // a continuation without its lead
      "\xc0\x80",
      "\xc1\xbf",
      "\xe0\x80\x80",
      "\xe0\x9f\xbf",  // overlong
      "\xf0\x80\x80\x80",
      "\xf0\x8f\xbf\xbf",  // overlong
      "\xed\xa0\x80",
      "\xed\xaf\xbf",
      "\xed\xb0\x80",
      "\xed\xbf\xbf",  // surrogates
      "\xf4\x90\x80\x80",
      "\xf5\x80\x80\x80",
      "\xf8\x88\x80\x80\x80",
      "\xfe",
      "\xff",  // above U+10FFFF
      "\xc3",
      "\xe2\x82",
      "\xe2",
      "\xf0\x9f\x98",
      "\xf0\x9f",
      "\xf0",  // cut
      "\xc3(",
      "\xe2(\xa1",
      "\xe2\x82(",
      "\xf0(\x8c\xbc",
      "\xf0\x90(\xbc",
      "\xf0\x90\x8c(",  // another byte where one should go on
      "\xc3\xc3",
      "\xe2\x82\xc3",
  };
  for (const std::string& text : bad) {
    std::size_t at = 0;
    EXPECT_FALSE(decode_utf8(text, at).has_value()) << printable(text);
    EXPECT_EQ(at, 1u) << printable(text);
    EXPECT_FALSE(valid_utf8(text)) << printable(text);
    EXPECT_FALSE(valid_utf8("good \xc3\xa4" + text)) << printable(text);
    EXPECT_FALSE(valid_utf8(text + "good")) << printable(text);
  }
  for (const std::string good :
       {"", "a", "\xc3\xa4", "\xe2\x82\xac", "\xed\x9f\xbf", "\xee\x80\x80", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(valid_utf8(good)) << good;
  }
}

TEST(Utf8Test, APrefixCountsCodePointsAndNeverCutsOne) {
  const std::string text = "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z";
  const std::vector<std::string> expected = {"",   "a", "a\xc3\xa4", "a\xc3\xa4\xe2\x82\xac", "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
                                             text, text};
  for (std::size_t count = 0; count < expected.size(); ++count) EXPECT_EQ(utf8_prefix(text, count), expected[count]);
}

TEST(PrintableTest, OnlyWhatIsNotUtf8IsChangedForJson) {
  EXPECT_EQ(as_utf8("line\nfeed \x1b \xe2\x80\xae"), "line\nfeed \x1b \xe2\x80\xae");
  EXPECT_EQ(as_utf8("bad\xff.txt"), "bad\\xff.txt");
  EXPECT_TRUE(valid_utf8(as_utf8("\xed\xa0\x80\xc3")));
}

TEST(PrintableTest, EveryByteAloneLeavesOnlyPrintableAscii) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text(1, static_cast<char>(byte)), shown = printable(text);
    if (byte >= 0x20 && byte < 0x7F) {
      EXPECT_EQ(shown, text);
    } else {
      char expected[8];
      std::snprintf(expected, sizeof expected, "\\x%02x", byte);
      EXPECT_EQ(shown, expected);
    }
  }
}

TEST(PrintableTest, LinesAndTabsStayOnRequestAndNothingElseDoes) {
  EXPECT_EQ(printable("a\n\tb\r\n\x0b", true), "a\n\tb\\x0d\n\\x0b");
  EXPECT_EQ(printable("a\n\tb"), "a\\x0a\\x09b");
}

// No byte a terminal acts on, and no character that is there and cannot be seen.
bool harmless(const std::string& shown) {
  for (std::size_t at = 0; at < shown.size();) {
    const auto c = decode_utf8(shown, at);
    if (!c || is_control(*c) || is_invisible(*c)) return false;
  }
  return true;
}

TEST(PrintableTest, EscapeBidiAndZeroWidthSequencesAreShownNotObeyed) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {"\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"},
      {"\x1b[2J\x1b[H", "\\x1b[2J\\x1b[H"},
      {"\x1b]0;title\x07", "\\x1b]0;title\\x07"},
      {"\x1b]52;c;ZXZpbA==\x07", "\\x1b]52;c;ZXZpbA==\\x07"},
      {"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "\\x1b]8;;http://x\\x1b\\link\\x1b]8;;\\x1b\\"},
      {"\x1bP+q544e\x1b\\", "\\x1bP+q544e\\x1b\\"},
      {"\x1b^pm\x1b\\", "\\x1b^pm\\x1b\\"},
      {"\x1b_apc\x1b\\", "\\x1b_apc\\x1b\\"},
      {"\x1b(0", "\\x1b(0"},
      {"\x1b"
       "c",
       "\\x1b"
       "c"},
      {"\x1b[?1049h", "\\x1b[?1049h"},
      {"\x1b[6n", "\\x1b[6n"},
      {"safe\rEVIL", "safe\\x0dEVIL"},
      {"ab\x08\x08xy", "ab\\x08\\x08xy"},
      {"\x07\x07", "\\x07\\x07"},
      {"\x0e\x0f", "\\x0e\\x0f"},
      {"\x7f", "\\x7f"},
      {"\xc2\x9b"
       "31m",
       "\\x9b31m"},
      {"\xc2\x9d"
       "0;t\xc2\x9c",
       "\\x9d0;t\\x9c"},
      {"\xc2\x90\xc2\x85", "\\x90\\x85"},
      {"\x9b"
       "31m",
       "\\x9b31m"},
      {"\xc2\xad", "\\u{ad}"},
      {"\xd8\x9c", "\\u{61c}"},
      {"\xe1\xa0\x8e", "\\u{180e}"},
      {"a\xe2\x80\x8b"
       "b",
       "a\\u{200b}b"},
      {"\xe2\x80\x8c", "\\u{200c}"},
      {"\xe2\x80\x8d", "\\u{200d}"},
      {"\xe2\x80\x8e", "\\u{200e}"},
      {"\xe2\x80\x8f", "\\u{200f}"},
      {"\xe2\x80\xa8", "\\u{2028}"},
      {"\xe2\x80\xa9", "\\u{2029}"},
      {"\xe2\x80\xaa", "\\u{202a}"},
      {"\xe2\x80\xab", "\\u{202b}"},
      {"\xe2\x80\xac", "\\u{202c}"},
      {"\xe2\x80\xad", "\\u{202d}"},
      {"gpj.\xe2\x80\xae"
       "exe",
       "gpj.\\u{202e}exe"},
      {"\xe2\x81\xa0", "\\u{2060}"},
      {"\xe2\x81\xa3", "\\u{2063}"},
      {"\xe2\x81\xa6\xe2\x81\xa7\xe2\x81\xa8\xe2\x81\xa9", "\\u{2066}\\u{2067}\\u{2068}\\u{2069}"},
      {"\xef\xbb\xbf", "\\u{feff}"},
      {"\xef\xbf\xb9", "\\u{fff9}"},
      {"\xf3\xa0\x80\x81\xf3\xa0\x81\xa1", "\\u{e0001}\\u{e0061}"},
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
      {"\xf0\x9f\x98", "\\xf0\\x9f\\x98"},
  };
  for (const auto& [text, expected] : table) {
    EXPECT_EQ(printable(text), expected);
    EXPECT_TRUE(harmless(printable(text))) << expected;
  }
}

TEST(PrintableTest, OrdinaryTextOfAnyScriptStays) {
  for (const std::string text :
       {"", "plain ~ text", "\xc3\xa4\xc3\xb6", "\xe6\x97\xa5\xe6\x9c\xac", "\xf0\x9f\x98\x80", "\xd8\xb9\xd8\xb1", "\xc2\xa0"})
    EXPECT_EQ(printable(text), text);
}

RC_GTEST_PROP(PrintableTest, AnyBytesBecomeHarmless, (const std::string& text)) {
  RC_ASSERT(harmless(printable(text)));
  std::string kept = printable(text, true);
  kept.erase(std::remove_if(kept.begin(), kept.end(), [](char c) { return c == '\n' || c == '\t'; }), kept.end());
  RC_ASSERT(harmless(kept));
}

TEST(CharacterClassTest, WhiteSpaceIsUnicodes) {
  std::vector<char32_t> spaces;
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (is_space(c)) spaces.push_back(c);
  }
  EXPECT_EQ(spaces,
            (std::vector<char32_t>{9,      10,     11,     12,     13,     0x20,   0x85,   0xA0,   0x1680, 0x2000, 0x2001, 0x2002, 0x2003,
                                   0x2004, 0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000}));
}

TEST(CharacterClassTest, ControlIsC0DeleteAndC1) {
  std::size_t count = 0;
  for (char32_t c = 0; c <= 0x10FFFF; ++c) count += is_control(c);
  EXPECT_EQ(count, 65u);
  for (const char32_t c : {0x00, 0x1F, 0x7F, 0x80, 0x9F}) EXPECT_TRUE(is_control(c)) << static_cast<std::uint32_t>(c);
  for (const char32_t c : {0x20, 0x7E, 0xA0}) EXPECT_FALSE(is_control(c)) << static_cast<std::uint32_t>(c);
}

TEST(DisplayWidthTest, WideCharactersTakeTwoColumnsAndCombiningOnesNone) {
  EXPECT_EQ(display_width(""), 0u);
  EXPECT_EQ(display_width("abc"), 3u);
  EXPECT_EQ(display_width("\xe6\x97\xa5\xe6\x9c\xac"), 4u);
  EXPECT_EQ(display_width("e\xcc\x81"), 1u);
  EXPECT_EQ(display_width("\xf0\x9f\x98\x80"), 2u);
  EXPECT_EQ(display_width("\xff"), 1u);
}

TEST(Utf8Test, ATextInPartsIsUtf8WhereTheWholeIs) {
  const std::string texts[] = {"",
                               "plain",
                               "a\u00e9\u20ac\U0001f600z",
                               "\u20ac\u20ac",
                               "\xff",
                               "a\xc3",
                               "\xe2\x82",
                               "\xe2\x82\x41",
                               "\xf0\x9f\x98",
                               "\xed\xa0\x80",
                               "\xc0\x80",
                               "\xf8\x88\x80\x80\x80",
                               "\x80",
                               "\xf4\x90\x80\x80",
                               "\xe2\xe2\x82\xac"};
  for (const std::string& text : texts) {
    std::size_t at = 0;
    bool valid = true;
    while (at < text.size() && valid) valid = decode_utf8(text, at).has_value();
    EXPECT_EQ(valid_utf8(text), valid) << printable(text);
    for (std::size_t first = 0; first <= text.size(); ++first) {
      for (std::size_t second = first; second <= text.size(); ++second) {
        Utf8Check check;
        const bool passed =
            check.add(text.substr(0, first)) && check.add(text.substr(first, second - first)) && check.add(text.substr(second));
        EXPECT_EQ(passed && check.complete(), valid) << printable(text) << " cut at " << first << " and " << second;
      }
    }
  }
}

}  // namespace
}  // namespace weir
