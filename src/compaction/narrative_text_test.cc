#include "compaction/narrative_text.h"

#include <gtest/gtest.h>

#include "base/utf8.h"
#include "compaction/carry.h"

namespace weir::compaction {
namespace {

TEST(NarrativeTextTest, RunningTextIsOneLineWithoutMarkdown) {
  EXPECT_EQ(escaped("a\n## b"), R"(a\\n\#\# b)");
  EXPECT_EQ(escaped("\t|"), R"(\\t\|)");
  EXPECT_EQ(escaped("\\`*_[]<>#|"), R"(\\\`\*\_\[\]\<\>\#\|)");
  EXPECT_EQ(escaped("a\r\x1b[0m"), R"(a\\u{d}\\u{1b}\[0m)");
  EXPECT_EQ(escaped(std::string_view("\0", 1)), R"(\\u{0})");
  EXPECT_EQ(escaped(""), "");
}

TEST(NarrativeTextTest, OnlySpacesAtTheEdgesShowAsCodes) {
  EXPECT_EQ(escaped("  a  b "), R"(\\u{20}\\u{20}a  b\\u{20})");
  EXPECT_EQ(escaped("  "), R"(\\u{20}\\u{20})");
  EXPECT_EQ(escaped(" "), R"(\\u{20})");
}

TEST(NarrativeTextTest, EachRangeOfHiddenCharactersShowsFromItsFirstToItsLast) {
  for (const char32_t c :
       {0x00, 0x1F, 0x7F, 0x9F, 0xAD, 0x061C, 0x180E, 0x200B, 0x200E, 0x200F, 0x2028, 0x202E, 0x2060, 0x206F, 0xFEFF, 0xE0000, 0xE007F}) {
    std::string data;
    append_utf8(data, c);
    EXPECT_TRUE(escaped(data).starts_with("\\\\u{")) << std::hex << static_cast<unsigned>(c);
  }
  for (const char32_t c : {0x7E, 0xA0, 0xAC, 0xAE, 0x200A, 0x200C, 0x200D, 0x2027, 0x202F, 0x205F, 0x2070, 0xFE0F, 0xE0080, 0x1F680}) {
    std::string data;
    append_utf8(data, c);
    EXPECT_EQ(escaped(data), data) << std::hex << static_cast<unsigned>(c);
  }
}

TEST(NarrativeTextTest, AnIdStaysInItsBackticks) {
  EXPECT_EQ(code_span("ev1_8b18"), "`ev1_8b18`");
  EXPECT_EQ(code_span("a`b``"), R"(`a\u{60}b\u{60}\u{60}`)");
  EXPECT_EQ(code_span(" a\n"), R"(`\u{20}a\n`)");
  EXPECT_EQ(code_span("a\\"), R"(`a\`)");
  EXPECT_EQ(code_span(""), "`?`");
}

TEST(NarrativeTextTest, NoLineOfAFenceCanCloseIt) {
  EXPECT_EQ(fenced("```\n## x\n\n\ty"), "```text\n| ```\n| ## x\n| \n| \ty\n```\n");
  EXPECT_EQ(fenced(" a\n b \r\n"), "```text\n| \\u{20}a\n|  b \\u{d}\n| \n```\n");
  EXPECT_EQ(fenced("\u202e*_\\"), "```text\n| \\u{202e}*_\\\n```\n");
  EXPECT_EQ(fenced(""), "```text\n| \n```\n");
}

TEST(NarrativeTextTest, BytesThatAreNoTextBecomeSome) {
  EXPECT_EQ(escaped("a\xff"), "a\uFFFD");
  EXPECT_TRUE(valid_utf8(fenced("\xe2\x80")));
}

TEST(NarrativeTextTest, ACutFallsBetweenCodePoints) {
  EXPECT_EQ(whole_prefix("aé👩", 8), "aé👩");
  EXPECT_EQ(whole_prefix("aé👩", 7), "aé👩");
  EXPECT_EQ(whole_prefix("aé👩", 6), "aé");
  EXPECT_EQ(whole_prefix("aé👩", 3), "aé");
  EXPECT_EQ(whole_prefix("aé👩", 2), "a");
  EXPECT_EQ(whole_prefix("é", 1), "");
  EXPECT_EQ(whole_prefix("é", 0), "");
}

}  // namespace
}  // namespace weir::compaction
