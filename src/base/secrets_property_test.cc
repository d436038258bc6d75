// The properties that hold for any text: masking twice changes nothing, and one pass of literals finds what 31 searches
// find.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <filesystem>

#include "base/secrets.h"
#include "testing/secret_oracle.h"
#include "testing/secret_samples.h"
#include "testing/source_dir.h"
#include "testing/temp_dir.h"

namespace weir {
namespace {

using testing::secret_samples;
using testing::SecretOracle;

const SecretOracle& oracle() {
  static const SecretOracle oracle;
  return oracle;
}

// What a text is put together from: secrets, what stands before and after them, marks, words that nearly begin one.
rc::Gen<std::string> piece() {
  std::vector<std::string> pieces = {std::string(kRedacted),
                                     "***",
                                     "REDACTED",
                                     "*",
                                     "\xc5\xbf",
                                     "\xe2\x84\xaa",
                                     "\xff",
                                     "\xc3\xa4",
                                     std::string(1, '\0'),
                                     "\n",
                                     "\r\n",
                                     " ",
                                     "\t",
                                     "\f",
                                     "\v",
                                     "\xc2\xa0",
                                     "=",
                                     ":",
                                     ": ",
                                     "://",
                                     "@",
                                     "/",
                                     ".",
                                     "-",
                                     "_",
                                     "\"",
                                     "\\\"",
                                     "'",
                                     ",",
                                     ";",
                                     "(",
                                     ")",
                                     "<",
                                     "$",
                                     "x",
                                     "1",
                                     "a1",
                                     "A",
                                     "hunter22",
                                     "Basic ",
                                     "token ",
                                     "bearer",
                                     "Authorization",
                                     "password",
                                     "pwd",
                                     "api-key",
                                     "aws_secret",
                                     "Cookie",
                                     "set-",
                                     "https",
                                     "hooks.slack.com",
                                     "sk-",
                                     "SK",
                                     "eyJ",
                                     "-----BEGIN ",
                                     " PRIVATE KEY-----",
                                     "-----END ",
                                     "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
                                     "0123456789abcdef0123456789abcdef"};
  for (const std::string& end : testing::word_ends()) pieces.push_back(end);
  for (const std::string piece : {"\\", "\\n", "\\\\n", "\\u000a", "\\/", "\x1b", "%", "25", "\":\"", "\\\":\\\"", "\",\"", "}", "]"})
    pieces.push_back(piece);
  for (const auto& sample : secret_samples()) {
    pieces.push_back(sample.text());
    pieces.push_back(sample.secret);
    pieces.push_back(sample.before);
  }
  return rc::gen::elementOf(pieces);
}

std::string mutate(std::string text) {
  if (text.empty()) return text;
  const std::size_t at = *rc::gen::inRange<std::size_t>(0, text.size());
  switch (*rc::gen::inRange(0, 4)) {
    case 0:
      text.erase(at, *rc::gen::inRange<std::size_t>(1, 4));
      break;
    case 1:
      text[at] = *rc::gen::arbitrary<char>();
      break;
    case 2:
      text.insert(at, *piece());
      break;
    default:
      text[at] = static_cast<char>(text[at] ^ 0x20);
      break;
  }
  return text;
}

std::string random_text() {
  std::string text;
  for (const std::string& part : *rc::gen::scale(0.15, rc::gen::container<std::vector<std::string>>(piece()))) text += part;
  for (int times = *rc::gen::inRange(0, 4); times > 0; --times) text = mutate(std::move(text));
  return text;
}

RC_GTEST_PROP(MaskPropertyTest, MaskingTwiceChangesNothing, ()) {
  for (int i = 0; i < 20; ++i) {
    MaskCounts counts, again;
    const std::string text = random_text();
    const auto once = Masker::standard().mask(text, counts);
    RC_ASSERT(once.has_value() == !counts.empty());
    RC_ASSERT(Masker::standard().mask(once.value_or(text), again) == std::nullopt);
    RC_ASSERT(again.empty());
  }
}

RC_GTEST_PROP(MaskPropertyTest, OnePassOfLiteralsFindsWhat31SearchesFind, ()) {
  for (int i = 0; i < 20; ++i) {
    MaskCounts counts, expected_counts;
    const std::string text = random_text(), expected = oracle().mask(text, &expected_counts);
    const auto once = Masker::standard().mask(text, counts);
    RC_ASSERT(once.value_or(text) == expected);
    RC_ASSERT(counts == expected_counts);
    RC_ASSERT(oracle().find(expected).empty());
  }
}

TEST(MaskPropertyTest, TheOracleItselfMasksEverySample) {
  for (const auto& sample : secret_samples())
    EXPECT_EQ(oracle().mask(sample.text()), sample.before + std::string(kRedacted) + sample.after);
}

TEST(MaskSourcesTest, InTheProjectsOwnSourcesItFindsAtMostOneHitIn1000Lines) {
  std::size_t lines = 0, hits = 0, files = 0;
  std::string where;
  for (const auto& file : std::filesystem::recursive_directory_iterator(testing::source_dir() + "/src")) {
    if (file.path().extension() != ".h" && file.path().extension() != ".cc") continue;
    const std::string text = testing::read_file(file.path().string());
    MaskCounts counts;
    (void)Masker::standard().mask(text, counts);
    ++files;
    lines += static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    for (const auto& [family, count] : counts) {
      hits += count;
      where += file.path().filename().string() + ": " + family + " " + std::to_string(count) + "\n";
    }
  }
  EXPECT_GT(files, 50u);
  EXPECT_LE(hits * 1000, lines) << where;
}

}  // namespace
}  // namespace weir
