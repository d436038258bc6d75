#include "base/secrets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/sha256.h"
#include "testing/secret_samples.h"

namespace weir {
namespace {

using testing::alnum;
using testing::secret_samples;
using testing::SecretSample;

const std::string kMark(kRedacted);

// The text with its secrets masked, or as it is.
std::string masked(const std::string& text, const Masker& masker = Masker::standard()) {
  MaskCounts counts;
  return masker.mask(text, counts).value_or(text);
}

void expect_untouched(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    MaskCounts counts;
    EXPECT_EQ(Masker::standard().mask(text, counts), std::nullopt) << text;
    EXPECT_TRUE(counts.empty()) << text;
  }
}

TEST(SecretTableTest, IsTheOneOfTheContract) {
  std::string table;
  for (const SecretFamily& family : secret_families()) {
    table.append(family.name).append(family.mixed ? " 1 " : " 0 ").append(family.pattern).append("\n");
  }
  EXPECT_EQ(secret_families().size(), 31u);
  EXPECT_EQ(sha256(table).hex(), "52f959efa3e20297bc46be0d61d7c516c114458d7bc0882ca185fb09fd7929e4");
}

TEST(SecretTableTest, EveryFamilyHasASample) {
  std::set<std::string, std::less<>> sampled, families;
  for (const SecretSample& sample : secret_samples()) sampled.insert(sample.family);
  for (const SecretFamily& family : secret_families()) families.emplace(family.name);
  EXPECT_EQ(sampled, families);
}

TEST(MaskTest, OfEachFamilyTheSpanIsReplacedAndNothingElse) {
  for (const SecretSample& sample : secret_samples()) {
    MaskCounts counts;
    EXPECT_EQ(Masker::standard().mask(sample.text(), counts), sample.before + kMark + sample.after) << sample.text();
    EXPECT_EQ(counts, (MaskCounts{{sample.family, 1}})) << sample.text();
  }
}

TEST(MaskTest, OneCharacterFewerIsNoSecret) {
  std::set<std::string> tried;
  for (const SecretSample& sample : secret_samples()) {
    if (!sample.shortest) continue;
    const std::string front_cut = sample.before + sample.secret.substr(1) + sample.after;
    const std::string end_cut = sample.before + sample.secret.substr(0, sample.secret.size() - 1) + sample.after;
    EXPECT_EQ(masked(front_cut), front_cut);
    EXPECT_EQ(masked(end_cut), end_cut);
    tried.insert(sample.family);
  }
  EXPECT_EQ(tried.size(), 30u);  // a private key goes on to the end of the text
}

TEST(MaskTest, WhatTheContractLeavesAloneIsLeftAlone) {
  expect_untouched({"password: string", "password: z.string().min(8)", "sk-short", "bearer of news", "http://localhost:8080/x",
                    "user@example.com", "9fceb02d0ae598e95dc970b74767f19372d61af8", "class sk-fading-circle-container-element"});
}

TEST(MaskTest, WhatTheContractMasksIsMasked) {
  EXPECT_EQ(masked("postgres://bob:" + alnum(10) + "@db/x"), "postgres://bob:***REDACTED***@db/x");
  EXPECT_EQ(masked("{\\\"api_key\\\":\\\"" + alnum(24) + "\\\"}"), "{\\\"api_key\\\":\\\"***REDACTED***\\\"}");
  const std::string begin = "-----BEGIN ", key = "RSA PRIVATE KEY-----\n";
  EXPECT_EQ(masked("my key\n" + begin + key + alnum(64) + "\n" + alnum(64)), "my key\n***REDACTED***");
}

TEST(MaskTest, OrdinaryCodeAndProseAreNotTouched) {
  expect_untouched({
      "The secret of a good key is that nobody knows the password.",
      "Authorization is not authentication.",
      "authorization: required",
      "Bearer authentication is described in section 2.1",
      "cookie: yes",
      "for (int i = 0; i < 10; ++i) token = next_token();",
      "const password = process.env.PASSWORD;",
      "if password == confirmation { return }",
      "password = get_password(user)",
      "export API_KEY=$MY_KEY",
      "export API_KEY=${MY_KEY_2}",
      "api_key: <your-key-1>",
      "def login(self, password: Optional[str] = None):",
      "https://example.org/a/b?c=d#e",
      "https://example.org:8443/path@2x.png",
      "ssh://git@example.org/repo.git",
      "git@example.org:owner/repo.git",
      "12:30:45 INFO request took 12ms",
      "2026-01-31T23:59:59.999Z",
      "550e8400-e29b-41d4-a716-446655440000",
      "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
      "task-list-item-with-a-very-long-class-name",
      "disk-usage-report-for-the-whole-machine",
      "risk-assessment",
      "npm_config_registry",
      "npm install --save-dev typescript",
      "hf_hub_download",
      "SG.com",
      "SKU-12345",
      "eyJust a word. eyJanother",
      "xoxo-love",
      "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
      "-----BEGIN PUBLIC KEY-----",
      "the AKIA prefix",
      "data:image/png;base64,iVBORw0KGgo=",
  });
}

TEST(MaskTest, AWordCharacterBeforeASecretHidesItAsTheTableSays) {
  const std::string token = "ghp_" + alnum(36);
  EXPECT_EQ(masked("x" + token), "x" + token);
  EXPECT_EQ(masked("x-" + token), "x-" + kMark);
  EXPECT_EQ(masked("\xc3\xa4" + token), "\xc3\xa4" + kMark);
}

TEST(MaskTest, OverlappingSpansBecomeOneMarkAndNeighboursOneEach) {
  const std::string token = "ghp_" + alnum(36);
  EXPECT_EQ(masked("Authorization: Bearer " + token), "Authorization: Bearer " + kMark);
  EXPECT_EQ(masked("password=" + token + " and " + token), "password=" + kMark + " and " + kMark);
}

TEST(MaskTest, ASecretGluedToAnotherIsFoundToo) {
  const std::string npm = "npm_" + alnum(36), google = "AIza" + alnum(35);
  EXPECT_EQ(masked(npm + npm), kMark + kMark);
  EXPECT_EQ(masked(npm + google + npm + "x"), kMark + kMark + kMark + "x");
}

TEST(MaskTest, TheMarkIsNotMaskedAgain) {
  expect_untouched({kMark, kMark + kMark, "password=" + kMark, "Authorization: Bearer " + kMark, "postgres://bob:" + kMark + "@db/x",
                    "cookie: " + kMark});
  EXPECT_EQ(masked("password=" + kMark + alnum(4)), "password=" + kMark);
}

TEST(MaskTest, LettersThatFoldToAsciiDoNotHideASecret) {
  EXPECT_EQ(masked("pa\xc5\xbfsword=" + alnum(12)), "pa\xc5\xbfsword=" + kMark);
  EXPECT_EQ(masked("api_\xe2\x84\xaa"
                   "ey=" +
                   alnum(12)),
            "api_\xe2\x84\xaa"
            "ey=" +
                kMark);
}

TEST(MaskTest, BytesThatAreNotUtf8DoNotStopIt) {
  EXPECT_EQ(masked("\xff\xfe ghp_" + alnum(36) + "\xff"), "\xff\xfe " + kMark + "\xff");
  EXPECT_EQ(masked(std::string("\0\0", 2) + "ghp_" + alnum(36)), std::string("\0\0", 2) + kMark);
}

}  // namespace
}  // namespace weir
