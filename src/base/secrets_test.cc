#include "base/secrets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/secret_rules.h"
#include "base/sha256.h"
#include "testing/secret_samples.h"

namespace weir {
namespace {

using testing::alnum;
using testing::json_quoted;
using testing::secret_samples;
using testing::SecretSample;
using testing::word_ends;

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

// Whoever changes what is masked changes this hash, and with it the version of the rules.
TEST(SecretTableTest, IsTheOneOfItsVersion) {
  std::string table;
  for (const SecretFamily& family : secret_families()) {
    table.append(family.name).append(family.mixed ? " 1" : " 0");
    for (const std::string& pattern : secret_patterns(family)) table.append(" ").append(pattern);
    table.append("\n");
  }
  EXPECT_EQ(secret_families().size(), 31u);
  EXPECT_EQ(kSecretRules, 2);
  EXPECT_EQ(sha256(table).hex(), "a8d0ffcf0d6d2300d2c3bd9b16e38fefcd4c55ef0e94cb2d3e9116fb69e1e406");
}

// What is not quoted may hold what would end a quoted value.
TEST(MaskTest, AValueMayHoldQuotesAndEscapesOfItsOwn) {
  const std::string tail =
      "TAIL"
      "SECRET9abc";
  const std::string texts[] = {
      "postgres://bob:Sup3r%40" + tail + "@db/x",
      "postgres://bob:pa\\" + tail + "@db",
      "postgres://bob:\"" + tail + "\"@db",
      "postgres%3A%2F%2Fbob%3A" + tail + "%40db",
      "Set-Cookie: messages=\"abc\\054def\\073" + tail + "\"; Path=/",
      "Cookie: theme=\" dark\"; sessionid=" + tail,
      "> Cookie: a=b\"c; sessionid=" + tail,
      "[\"-----BEGIN RSA PRIVATE"
      " KEY-----\",\n '" +
          tail +
          "',\n \"-----END RSA PRIVATE"
          " KEY-----\"]",
      "-----BEGIN RSA PRIVATE"
      " KEY-----\nabc\", \"x\": 1 }\n" +
          tail,
  };
  for (const std::string& text : texts) {
    MaskCounts counts;
    const auto masked = Masker::standard().mask(text, counts);
    ASSERT_TRUE(masked.has_value()) << text;
    EXPECT_EQ(masked->find(tail), std::string::npos) << *masked;
  }
}

TEST(MaskTest, PartsOfWordsAreNoSecrets) {
  for (const std::string_view text : {"MSG.ERROR_INVALID_SESSION.DESCRIPTION_FOR_USER", "class=\"helpdesk-admin-sidebar-navigation-item\"",
                                      "task-proj-frontend-build-runner-image", "GATTACCAGATTACAGATTACAGA", "0F0F0F0FACCA0123456789ABCDEF",
                                      "[\"http://h:80\",\"joe@example.com\"]"}) {
    MaskCounts counts;
    EXPECT_EQ(Masker::standard().mask(text, counts), std::nullopt) << text;
  }
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

TEST(MaskTest, NothingBeforeATokenHidesItWhereNoWordEndsAsItBegins) {
  const std::string token = "ghp_" + alnum(36), key = "sk-" + alnum(32);
  for (const std::string before : {"x", "1", "x_", "x-", "\xc3\xa4"}) EXPECT_EQ(masked(before + token), before + kMark);
  for (const std::string before : {"_", "-", "\xc3\xa4"}) EXPECT_EQ(masked(before + key), before + kMark);
  EXPECT_EQ(masked("ta" + key), "ta" + key);
}

// Ordinary names that end as a token begins.
TEST(MaskTest, WordsThatEndAsATokenBeginsStay) {
  for (const std::string text : {"nginxapp-deployment-66b6c48dd5", "disk_test_ConcurrentReadWrite", "network_test_MultiplePeersReconnect",
                                 "task-aaaaaaaaaaaaaaaaaaaaaaaa"})
    EXPECT_EQ(masked(text), text);
}

TEST(MaskTest, AnEmptyValueOrAColourBeforeTheSecretDoesNotHideIt) {
  const std::string secret = alnum(24);
  for (const std::string before : {"Cookie: prefs=\"\"; session=", "Set-Cookie: id=\"\"; token=", "password=\"\x1b[33m",
                                   "\"api_key\": \"\x1b[33m", "authorization=\"\x1b[32m"}) {
    for (int depth = 0; depth <= 3; ++depth)
      EXPECT_EQ(masked(json_quoted(before, depth) + secret).find(secret), std::string::npos) << json_quoted(before, depth);
  }
}

// Of every family, behind and before everything that ends a word, in as many JSON strings as real transcripts nest.
TEST(MaskTest, EscapesPercentEncodingsAndTerminalSequencesEndAWordAtAnyDepth) {
  for (const SecretSample& sample : secret_samples()) {
    for (const std::string& end : word_ends()) {
      for (int depth = 0; depth <= 4; ++depth) {
        for (const bool by_number : {false, true}) {
          const std::string secret = json_quoted(sample.secret, depth, by_number);
          for (const bool behind : {false, true}) {
            const std::string quoted = json_quoted(sample.glued(end, behind), depth, by_number), once = masked(quoted);
            EXPECT_EQ(once.find(secret), std::string::npos) << sample.family << ": " << quoted << "\n" << once;
            const std::string middle = sample.secret.size() > 16 ? sample.secret.substr(sample.secret.size() / 2, 8) : secret;
            EXPECT_EQ(once.find(middle), std::string::npos) << sample.family << ": " << quoted << "\n" << once;
            EXPECT_EQ(masked(once), once);
          }
        }
      }
    }
  }
}

// Names and values may be quoted, and coloured, apart from each other.
TEST(MaskTest, BetweenANameAndItsValueMayStandTheSame) {
  const std::string value = alnum(24);
  for (const std::string name : {"password", "api_key", "Authorization", "Authorization: Basic", "Bearer", "Cookie"}) {
    const bool colon = name.find(' ') == std::string::npos && name != "Bearer";
    for (const std::string end : {"\n", "\t", "\x1b[32m", "%20", "\\u0020"}) {
      for (int depth = 0; depth <= 4; ++depth) {
        const std::string before = json_quoted(name + (colon ? ":" : "") + end, depth);
        EXPECT_EQ(masked(before + value), before + kMark) << before;
      }
    }
  }
  for (int depth = 0; depth <= 4; ++depth) {
    for (const std::string name : {"\"password\": \"", "'api_key'='", "\"Authorization\":\"Basic ", "\"aws_secret_key\":\n\""}) {
      const std::string before = json_quoted(name, depth), long_value = alnum(40);
      EXPECT_EQ(masked(before + long_value + json_quoted("\"", depth)), before + kMark + json_quoted("\"", depth)) << before;
    }
  }
  EXPECT_EQ(masked("?password%3D" + value), "?password%3D" + kMark);
  EXPECT_EQ(masked("%22api_key%22%3A%22" + value), "%22api_key%22%3A%22" + kMark);
  EXPECT_EQ(masked("https:\\/\\/hooks.slack.com\\/services\\/T1\\/B2\\/" + alnum(14)), kMark);
  EXPECT_EQ(masked("postgres:\\/\\/bob:" + value + "@db"), "postgres:\\/\\/bob:" + kMark + "@db");
  EXPECT_EQ(masked("api.telegram.org/bot12345678:AA" + alnum(33) + "/x"), "api.telegram.org/bot" + kMark + "/x");
}

TEST(MaskTest, WhatIsGluedBehindASecretDoesNotHideIt) {
  for (const SecretSample& sample : secret_samples()) {
    // A longer run of its own alphabet is another thing, such as a longer hash.
    const std::string glued = sample.family == "aws_access_id" ? "_x" : "_X";
    const std::string once = masked(sample.before + sample.secret + glued + sample.after);
    EXPECT_EQ(once.find(sample.secret), std::string::npos) << once;
  }
  EXPECT_EQ(masked("AKIA" + testing::upper(16) + "x"), kMark + "x");
  EXPECT_EQ(masked("SK" + testing::hex_digits(32) + "X"), kMark + "X");
  expect_untouched({"AKIA" + testing::upper(17), "SK" + testing::hex_digits(33)});
}

TEST(MaskTest, NoEscapeIsTakenApart) {
  EXPECT_EQ(masked("a\\npm_" + alnum(36)), "a" + kMark);  // npm_ behind a backslash, or pm_ on a new line
  EXPECT_EQ(masked("a\\\\rk_live_" + alnum(16)), "a" + kMark);
  EXPECT_EQ(masked("a\\nnpm_" + alnum(36) + "\\n"), "a\\n" + kMark + "\\n");
  EXPECT_EQ(masked("password:\\n" + alnum(12) + "\\nb"), "password:\\n" + kMark + "\\nb");
  EXPECT_EQ(masked("password=\x1b[1m" + alnum(12) + "\x1b[0;1m"), "password=\x1b[1m" + kMark + "\x1b[0;1m");
  EXPECT_EQ(masked("password=ab\\/" + alnum(12) + "\\n"), "password=" + kMark + "\\n");
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
