#include "research/url.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <clocale>
#include <locale>

#include "json/canonical.h"
#include "research/schema.h"
#include "research/url_query.h"
#include "testing/results.h"
#include "testing/upstream_cases.h"

namespace weir::research {
namespace {

using testing::code;
using testing::must;
using testing::UpstreamCase;

std::string normal(std::string_view url) {
  const auto result = normalise_url(url);
  return result.ok() ? result->normal : code(result);
}
std::string shown(std::string_view url) {
  const auto result = normalise_url(url);
  return result.ok() ? result->shown : code(result);
}
std::vector<std::string> urls(std::string_view line) {
  const auto found = urls_in(line);
  return {found.begin(), found.end()};
}
using Strings = std::vector<std::string>;

// ---- normal form and cid ----
TEST(UrlTest, EveryRecordedUrlHasUpstreamsFormAndCid) {
  int compared = 0;
  for (const UpstreamCase& one : testing::upstream_cases("url_normalize")) {
    const auto result = normalise_url(one.at("args.url").text());
    ASSERT_EQ(result.ok(), one.at("result.ok").boolean()) << one.id;
    ++compared;
    if (!result.ok()) {
      EXPECT_EQ(code(result), "INVALID_URL") << one.id;
      continue;
    }
    EXPECT_EQ(result->normal, one.at("result.normalized_url").text()) << one.id;
    EXPECT_EQ(result->cid, one.at("result.cid").text()) << one.id;
  }
  EXPECT_EQ(compared, 13);
}

TEST(UrlTest, TheWorkedExamplesCidsHold) {
  EXPECT_EQ(must(normalise_url("https://example.com/quic-study?utm_source=feed")).cid,
            "cid_563f70b5435c9c87eda7fd9b549b3199fdbeff877132f6d4f609171829675817");
  EXPECT_EQ(must(normalise_url("https://example.org/handshake/")).cid,
            "cid_4cd78ab7f2450cbcd182459d5edc2418e0196a141be4e4f2e2048d8a6bc44508");
  EXPECT_EQ(must(normalise_url("https://example.net/operator-report")).cid,
            "cid_c88643dbb7faf859dd08bae2723bd98fcd5e08e1185b6890ebca2fc509e5cd43");
}

TEST(UrlTest, PairsAreSortedByTheOneOrderUnderAnyLocale) {
  const std::string wanted = "https://x.org/?a=1&A=1&b_x=1&b1=2&%C3%A4=3";
  const std::string before = std::setlocale(LC_ALL, nullptr);
  for (const char* name : {"C", "C.UTF-8", "en_US.UTF-8", "de_DE.UTF-8", "tr_TR.UTF-8", ""}) {
    if (std::setlocale(LC_ALL, name) == nullptr) continue;
    EXPECT_EQ(normal("https://x.org/?b1=2&%C3%A4=3&A=1&b_x=1&a=1"), wanted) << name;
    EXPECT_EQ(normal("https://x.org/?UTM_SOURCE=1&GCLID=2&FBCLID=3&API_KEY=4"), "https://x.org/?API_KEY=%5BREDACTED%5D") << name;
  }
  std::setlocale(LC_ALL, before.c_str());
  EXPECT_EQ(normal("https://x.org/?a=2&a=1&a=10"), "https://x.org/?a=1&a=10&a=2");
}

TEST(UrlTest, SecretsHaveOneCidAndOtherKeysTheirOwn) {
  const auto cid = [](std::string_view url) { return must(normalise_url(url)).cid; };
  EXPECT_NE(cid("https://x.org/?keyword=a"), cid("https://x.org/?keyword=b"));
  for (const char* key : {"api_key", "token", "KEY", "apikey", "x-auth", "a.session.b", "sessionid", "Password", "my_passwd",
                          "client-secret", "api%5Fkey", "%74oken", "to%6ben"}) {
    const std::string base = "https://x.org/?" + std::string(key) + "=";
    EXPECT_EQ(cid(base + "a"), cid(base + "b")) << key;
    const auto result = must(normalise_url(base + "hush"));
    EXPECT_EQ(result.shown, base + "[REDACTED]");
    EXPECT_TRUE(result.normal.ends_with("=%5BREDACTED%5D")) << result.normal;
  }
  for (const char* key : {"keyword", "author", "tokens", "secretary", "monkey", "sessions", "a_keyword"}) {
    EXPECT_NE(cid("https://x.org/?" + std::string(key) + "=a"), cid("https://x.org/?" + std::string(key) + "=b")) << key;
  }
}

TEST(UrlTest, QueriesAreDecodedAndWrittenInOneForm) {
  EXPECT_EQ(normal("https://x.org/?a+b=c%20d"), "https://x.org/?a%20b=c%20d");
  EXPECT_EQ(normal("https://x.org/?a"), "https://x.org/?a=");
  EXPECT_EQ(normal("https://x.org/?&&a=1&"), "https://x.org/?a=1");
  EXPECT_EQ(normal("https://x.org/?=1"), "https://x.org/?=1");
  EXPECT_EQ(normal("https://x.org/?%41=%7e'()*!"), "https://x.org/?A=~'()*!");
  EXPECT_EQ(normal("https://x.org/?a=%zz%4"), "https://x.org/?a=%25zz%254");
  EXPECT_EQ(normal("https://x.org/?token"), "https://x.org/?token=%5BREDACTED%5D");
  EXPECT_EQ(normal("https://x.org/?#f"), "https://x.org/");
  EXPECT_EQ(normal("https://x.org/?a=%ff"), "https://x.org/?a=%EF%BF%BD");
  EXPECT_EQ(normal("https://x.org/?a=%e2%82"), "https://x.org/?a=%EF%BF%BD");  // one broken character, not two
  EXPECT_EQ(normal("https://x.org/?a=%e2%41%f0%80"), "https://x.org/?a=%EF%BF%BDA%EF%BF%BD%EF%BF%BD");
}

TEST(UrlTest, WhatIsShownIsTheUrlWithoutUserInfo) {
  EXPECT_EQ(shown("https://a.com"), "https://a.com/");
  EXPECT_EQ(shown("HTTPS://u:p@A.com:8443/x/../y/?b=1&a=2&key=k#f"), "https://a.com:8443/y/?b=1&a=2&key=[REDACTED]#f");
  EXPECT_EQ(shown("https://a.com/?"), "https://a.com/?");
  EXPECT_EQ(shown("https://a.com/?key=&token&x"), "https://a.com/?key=&token&x");
  EXPECT_TRUE(must(normalise_url("https://u:p@a.com/")).user_info);
  EXPECT_TRUE(must(normalise_url("https://u@a.com/")).user_info);
  EXPECT_FALSE(must(normalise_url("https://a.com/@x")).user_info);
  EXPECT_EQ(normal("https://u:p@a.com/x"), "https://a.com/x");
  EXPECT_EQ(normal("http://u@[::1]:80/x/#f"), "http://[::1]/x");
}

TEST(UrlTest, OnlyAbsoluteHttpUrlsAreTaken) {
  for (const char* url : {"", "x", "/x", "//x.org/", "ftp://x.org/", "mailto:a@b.c", "javascript:1", "file:///x", "https://", "http://?a",
                          "https://x.org:99999/", "https://[::1", "https://a b/", "https://x\xff.org/", "https://1.2.3.256/"}) {
    EXPECT_EQ(normal(url), "INVALID_URL") << url;
  }
}

TEST(UrlTest, AnErrorShowsNoSecret) {
  const auto message = [](std::string_view url) { return normalise_url(url).error().message(); };
  EXPECT_EQ(message("https://a b.com/x?api_key=hush"), "not an absolute http or https URL: 'https://a b.com/x'");
  EXPECT_EQ(message("https://me:hush@a b.com/#t=hush"), "not an absolute http or https URL: 'a b.com/'");
}

// ---- URLs of a line ----
TEST(UrlsInTest, AUrlEndsAtSpaceQuotesBracketsAndAnUnbalancedParenthesis) {
  EXPECT_EQ(urls("- (https://en.wikipedia.org/wiki/Foo_(bar)) and <https://a.b/c>, 'https://q.r/'."),
            (Strings{"https://en.wikipedia.org/wiki/Foo_(bar)", "https://a.b/c", "https://q.r/"}));
  EXPECT_EQ(urls("[t](http://x.org/a?b=(c)d) `https://y.org` \"https://z.org/\""),
            (Strings{"http://x.org/a?b=(c)d", "https://y.org", "https://z.org/"}));
  EXPECT_EQ(urls("https://a.org/x\u00a0https://b.org/y\u3000z"), (Strings{"https://a.org/x", "https://b.org/y"}));
  EXPECT_EQ(urls("https://a.org/\u200bx"), (Strings{"https://a.org/\u200bx"}));
}

TEST(UrlsInTest, PunctuationAtTheEndIsNoPartOfAUrl) {
  EXPECT_EQ(urls("see https://a.org/x?y=1!?;:,. or https://b.org/z..."), (Strings{"https://a.org/x?y=1", "https://b.org/z"}));
  EXPECT_EQ(urls("https:// http://, HTTPS://X.ORG ftp://y.org"), (Strings{"https://", "http://"}));  // to be rejected by name
}

TEST(UrlsInTest, AUrlInAUrlIsOneUrl) {
  EXPECT_EQ(urls("https://web.archive.org/web/2020/https://x.org/?u=http://y.org"),
            (Strings{"https://web.archive.org/web/2020/https://x.org/?u=http://y.org"}));
}

TEST(UrlsInTest, AMaskedValueEndsNoUrl) {
  EXPECT_EQ(urls("- https://x.org/?token=[REDACTED]&page=2 (x)"), (Strings{"https://x.org/?token=[REDACTED]&page=2"}));
  EXPECT_EQ(urls("https://x.org/[REDACTED]"), (Strings{"https://x.org/"}));
}

// ---- masking in texts ----
TEST(MaskQueriesTest, ValuesOfSecretKeysGoAndEveryOtherByteStays) {
  EXPECT_EQ(mask_queries("- see [a](https://x.org/p?a=1&api_key=hush&b=2#key=x), <HTTP://y.org/?TOKEN=s> and key=v."),
            "- see [a](https://x.org/p?a=1&api_key=[REDACTED]&b=2#key=x), <HTTP://y.org/?TOKEN=[REDACTED]> and key=v.");
  EXPECT_EQ(mask_queries("https://x.org/?token=abc. Next"), "https://x.org/?token=[REDACTED]. Next");
  EXPECT_EQ(mask_queries("(https://x.org/?token=a(b)c) token=d"), "(https://x.org/?token=[REDACTED]) token=d");
  EXPECT_EQ(mask_queries("'https://x.org/?token=a','https://y.org/?key=b'"),
            "'https://x.org/?token=[REDACTED]','https://y.org/?key=[REDACTED]'");
  EXPECT_EQ(mask_queries("https://x.org/?api%5Fkey=a&to%6ben=b"), "https://x.org/?api%5Fkey=[REDACTED]&to%6ben=[REDACTED]");
  EXPECT_EQ(mask_queries("https://x.org/?x=[1]&token=a"), "https://x.org/?x=[1]&token=[REDACTED]");
}

TEST(MaskQueriesTest, WhatIsNoSecretStays) {
  for (const char* text :
       {"", "no url", "https://x.org/token=1", "https://x.org/?keyword=a&author=b", "https://x.org/#?token=a", "https://x.org/ ?token=a",
        "ftp://x.org/?token=a", "https://x.org/?token=", "https://x.org/?token", "https://x.org/?a=1;token=b",
        "https://x.org/?token=[REDACTED]&x=1", "http:/x.org/?token=a", "https://x.org/x&token=a"}) {
    EXPECT_EQ(mask_queries(text), text);
  }
}

TEST(MaskQueriesTest, AUrlInTheQueryOfAnotherIsMaskedToo) {
  EXPECT_EQ(mask_queries("https://a.org/?u=https://b.org/?token=s&key=t"),
            "https://a.org/?u=https://b.org/?token=[REDACTED]&key=[REDACTED]");
  EXPECT_EQ(mask_queries("https://a.org/https://b.org/?token=s"), "https://a.org/https://b.org/?token=[REDACTED]");
  EXPECT_EQ(mask_queries("https://a.org/?https://b.org/?x_token=s"), "https://a.org/?https://b.org/?x_token=[REDACTED]");
  EXPECT_EQ(mask_queries("https://a.org/?token=https://b.org/?x=1&y=2"), "https://a.org/?token=[REDACTED]&y=2");
}

TEST(MaskQueriesTest, ALongTextOfNestedUrlsTakesLinearTime) {
  std::string text;
  while (text.size() < (1 << 20)) text += "http://?a.";
  EXPECT_EQ(mask_queries(text), text);
  EXPECT_EQ(mask_queries(text + "token=s"), text + "token=[REDACTED]");
}

RC_GTEST_PROP(MaskQueriesTest, MaskingTwiceChangesNothingMore, ()) {
  const auto pieces = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("https://", "HTTP://", "x.org/", "?", "&", "=", "token", "api_key", "%5F", "a", "(", ")", "[", "]", "'",
                                    " ", "#", ".", ",", "[REDACTED]", "<", "é", "\u00a0", "+", ";"));
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  const std::string once = mask_queries(text);
  RC_ASSERT(mask_queries(once) == once);
}

RC_GTEST_PROP(MaskQueriesTest, AUrlKeepsItsCidWhenItsTextIsMasked, ()) {
  const auto pieces = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("&", "=", "token", "api_key", "%5F", "a", "b", "utm_x", "+", "%C3%A9", "/", "?", "https://y.org"));
  std::string url = "https://x.org/?";
  for (const std::string& piece : pieces) url += piece;
  const std::string line = "- " + url + " x", masked = mask_queries(line);
  const auto before = urls_in(line);
  const auto after = urls_in(masked);
  RC_ASSERT(before.size() == 1u && after.size() == 1u);
  // A URL in a value is masked on its own account, which the URL around it may tell.
  if (url.find("https://y") == std::string::npos) RC_ASSERT(must(normalise_url(before[0])).cid == must(normalise_url(after[0])).cid);
}

// ---- records ----
Strings citation_errors(std::string_view text) {
  json::Parser parser;
  SchemaErrors errors;
  check_citation(must(parser.parse(text)), "$[2]", errors);
  Strings out;
  for (const auto& error : errors.list()) out.push_back(std::string(info(error.code).name) + " " + error.path + " " + error.message);
  return out;
}

TEST(CitationSchemaTest, RecordsOfUpstreamAndOfTheWorkedExamplePass) {
  int checked = 0;
  for (const UpstreamCase& one : testing::upstream_cases("citations_validate")) {
    const json::Value* text = one.at("files_written").find("citations/citations.jsonl");
    if (text == nullptr) continue;
    std::string_view lines = text->text();
    for (; !lines.empty(); lines.remove_prefix(lines.find('\n') + 1), ++checked)
      EXPECT_EQ(citation_errors(lines.substr(0, lines.find('\n'))), Strings()) << one.id;
  }
  EXPECT_EQ(checked, 7);
}

TEST(CitationSchemaTest, ACidThatIsNotTheHashOfTheUrlIsNamedAsThat) {
  const std::string record =
      R"({"schema_version":"citation.v1","normalized_url":"https://a.com/x","cid":")" + cid_of("https://a.com/x") +
      R"(","url":"https://a.com/x","url_original":"https://a.com/x","status":"valid","checked_at":"t","found_by":[],"notes":""})";
  EXPECT_EQ(citation_errors(record), Strings());
  std::string other = record;
  other.replace(other.find("https://a.com/x"), 15, "https://a.com/y");
  EXPECT_EQ(citation_errors(other), Strings{"CID_MISMATCH $[2].cid citation.cid is not the hash of its normalized_url"});
  // As it stands: what is stored is not normalised again.
  EXPECT_EQ(cid_of("https://example.com/a/"), "cid_3cfe93300705bc1af9fc1cc18f2419119b6ab20a867a8bbd10da3a15eddc2382");
}

TEST(CitationSchemaTest, EveryWrongMemberIsNamed) {
  EXPECT_EQ(citation_errors("7"), Strings{"SCHEMA_VALIDATION_FAILED $[2] citation must be an object"});
  const std::string found = "{\"perspective_id\":\"p\"}";
  std::string many = found;
  for (int i = 0; i < 20; ++i) many += "," + found;
  EXPECT_EQ(
      citation_errors(R"({"schema_version":"v","normalized_url":"","cid":"","url":"","url_original":3,"status":"great","checked_at":null,
                              "found_by":[1,{"wave":0,"agent_type":1}],"http_status":"200","title":1,"evidence_snippet":")" +
                      std::string(2049, 'x') + R"("})"),
      (Strings{"SCHEMA_VALIDATION_FAILED $[2].schema_version citation.schema_version must be citation.v1",
               "SCHEMA_VALIDATION_FAILED $[2].normalized_url citation.normalized_url invalid",
               "SCHEMA_VALIDATION_FAILED $[2].cid citation.cid invalid", "SCHEMA_VALIDATION_FAILED $[2].url citation.url invalid",
               "SCHEMA_VALIDATION_FAILED $[2].url_original citation.url_original invalid",
               "SCHEMA_VALIDATION_FAILED $[2].status citation.status invalid",
               "SCHEMA_VALIDATION_FAILED $[2].checked_at citation.checked_at invalid",
               "SCHEMA_VALIDATION_FAILED $[2].found_by[0] citation.found_by invalid",
               "SCHEMA_VALIDATION_FAILED $[2].found_by[1].wave found_by.wave invalid",
               "SCHEMA_VALIDATION_FAILED $[2].found_by[1].perspective_id found_by.perspective_id invalid",
               "SCHEMA_VALIDATION_FAILED $[2].found_by[1].agent_type found_by.agent_type invalid",
               "SCHEMA_VALIDATION_FAILED $[2].notes citation.notes invalid",
               "SCHEMA_VALIDATION_FAILED $[2].http_status citation.http_status invalid",
               "SCHEMA_VALIDATION_FAILED $[2].title citation.title invalid",
               "SCHEMA_VALIDATION_FAILED $[2].evidence_snippet citation.evidence_snippet invalid"}));
}

}  // namespace
}  // namespace weir::research
