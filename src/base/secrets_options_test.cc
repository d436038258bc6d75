#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "base/secrets.h"
#include "testing/secret_samples.h"

namespace weir {
namespace {

using testing::alnum;

const std::string kMark(kRedacted);

std::string masked(const std::string& text, const Masker& masker) {
  MaskCounts counts;
  return masker.mask(text, counts).value_or(text);
}

TEST(MaskerOptionsTest, AFamilyThatIsOffIsLeftAndTheOthersAreNot) {
  const Masker masker = *Masker::make({.off = {"github_token", "url_password"}});
  const std::string github = "ghp_" + alnum(36), npm = "npm_" + alnum(36), url = "postgres://bob:" + alnum(8) + "@db";
  EXPECT_EQ(masked(github + " " + npm + " " + url, masker), github + " " + kMark + " " + url);
}

TEST(MaskerOptionsTest, EachFamilyCanBeTurnedOffAlone) {
  for (const SecretFamily& family : secret_families()) {
    const Masker masker = *Masker::make({.off = {std::string(family.name)}});
    for (const testing::SecretSample& sample : testing::secret_samples()) {
      EXPECT_EQ(masked(sample.text(), masker) == sample.text(), sample.family == family.name) << family.name << ": " << sample.text();
    }
  }
}

TEST(MaskerOptionsTest, AnExtraFamilyIsFoundWithItsGroupOrWhole) {
  const Masker masker = *Masker::make({.extra = {{"acme", "acme_[0-9a-f]{8}"}, {"pin", "(?i)pin is ([0-9]{4})"}}});
  MaskCounts counts;
  EXPECT_EQ(masker.mask("acme_0123abcd, PIN is 1234.", counts), kMark + ", PIN is " + kMark + ".");
  EXPECT_EQ(counts, (MaskCounts{{"acme", 1}, {"pin", 1}}));
}

TEST(MaskerOptionsTest, AnExtraFamilyIsFoundInShortTextsToo) {
  const Masker masker = *Masker::make({.extra = {{"code", "x[0-9]{3}"}}});
  EXPECT_EQ(masked("x123", masker), kMark);
}

TEST(MaskerOptionsTest, AnExtraPatternThatMatchesTheMarkItselfComesToAnEnd) {
  for (const std::string pattern : {"[A-Z]{8}", "RED", "\\*+", ".", "[^x]+", "\\*\\*\\*REDACTED", "", "(x?)", "T(E)D"}) {
    const Masker masker = *Masker::make({.extra = {{"wide", pattern}}});
    const std::string once = masked("SECRETXY and ACTED", masker);
    EXPECT_EQ(masked(once, masker), once) << pattern;
    EXPECT_LT(once.size(), 400u) << pattern;
  }
}

TEST(MaskerOptionsTest, AnExtraPatternFoundBesideAMarkIsMasked) {
  const Masker masker = *Masker::make({.extra = {{"word", "[A-Z]{8}"}}});
  EXPECT_EQ(masked("SECRETXY " + kMark + " SECRETXY", masker), kMark + " " + kMark + " " + kMark);
}

TEST(MaskerOptionsTest, ABadPatternAndAnUnknownFamilyAreRefusedTogether) {
  const auto refused = Masker::make({.off = {"github_token", "nonsense"}, .extra = {{"good", "a"}, {"broken", "a("}}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::INVALID_FIELD);
  EXPECT_EQ(refused.error().fields(), (std::vector<FieldError>{{"/mask/off", "no family of secrets is called 'nonsense'"},
                                                               {"/mask/extra", "pattern of 'broken': missing ): a("}}));
}

TEST(MaskerOptionsTest, DisabledItMasksNothing) {
  const Masker masker = *Masker::make({.enabled = false});
  EXPECT_FALSE(masker.enabled());
  const std::string token = "ghp_" + alnum(36);
  EXPECT_EQ(masked(token, masker), token);
}

TEST(SecretKeyTest, EveryKeyOfTheTableIsOneInAnyCaseAndWithSeparators) {
  const std::vector<std::string> keys = {
      "apikey",     "xapikey",     "openaiapikey", "openrouterapikey", "anthropicapikey", "authorization", "proxyauthorization",
      "token",      "accesstoken", "refreshtoken", "idtoken",          "authtoken",       "sessiontoken",  "bearertoken",
      "password",   "passwd",      "passphrase",   "secret",           "secretkey",       "clientsecret",  "awssecretaccesskey",
      "privatekey", "cookie",      "setcookie",    "credential",       "credentials"};
  EXPECT_EQ(keys.size(), 26u);
  for (const std::string& key : keys) {
    std::string upper, dashed;
    for (const char c : key) {
      upper += static_cast<char>(c - 32);
      dashed.append(1, c).append("-_. ");
    }
    for (const std::string& form : {key, upper, dashed, "." + key, key + std::string(100, '_')})
      EXPECT_TRUE(Masker::standard().secret_key(form)) << form;
    EXPECT_FALSE(Masker::standard().secret_key(key + "x")) << key;
    EXPECT_FALSE(Masker::standard().secret_key("q" + key)) << key;
  }
}

TEST(SecretKeyTest, OtherKeysAreNone) {
  for (const std::string key : {"", "a", "key", "tokens", "token_count", "max_tokens", "id", "author", "passwords", "public_key", "-----",
                                "to/ken", "to\xc3\xa4ken", "t\xc3\xb6ken"}) {
    EXPECT_FALSE(Masker::standard().secret_key(key)) << key;
  }
}

TEST(SecretKeyTest, AUsersOwnKeysCountWhateverTheirLength) {
  const std::string long_key(100, 'k');
  const Masker masker = *Masker::make({.secret_keys = {"PIN", "Acme-Key", long_key}});
  for (const std::string& key :
       {std::string("pin"), std::string("P.I.N"), std::string("acmekey"), std::string("ACME_KEY"), long_key, std::string("password")})
    EXPECT_TRUE(masker.secret_key(key)) << key;
  for (const std::string& key : {std::string("pi"), std::string("pins"), long_key + "k"}) EXPECT_FALSE(masker.secret_key(key)) << key;
  EXPECT_FALSE(Masker::standard().secret_key("pin"));
}

TEST(MaskTimeTest, AMegabyteOfGluedSecretsIsMaskedInReasonableTime) {
  const std::string npm = "npm_" + alnum(36), google = "AIza" + alnum(35);
  std::string text;
  while (text.size() < 1000000) text += npm + google;
  const auto start = std::chrono::steady_clock::now();
  const std::string once = masked(text, Masker::standard());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  EXPECT_EQ(once.find("npm_"), std::string::npos);
  EXPECT_EQ(masked(once, Masker::standard()), once);
}

}  // namespace
}  // namespace weir
