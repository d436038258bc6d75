// The fast parser and the exact one are one parser: what they accept, what they refuse and the bytes they give.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "json/canonical.h"
#include "json/parse.h"

namespace weir::json {
namespace {

std::string outcome(const Result<Value>& result) {
  if (result.ok()) return canonical(*result);
  return std::string(info(result.error().code()).name) + ": " + result.error().message();
}

std::string fast(const std::string& text) {
  Parser parser;
  return outcome(parser.parse(text));
}

std::string exact(const std::string& text) {
  Arena arena;
  bool repaired = false;
  return outcome(parse_exact(text, arena, {}, repaired));
}

std::string pick(const std::vector<std::string>& of) { return *rc::gen::elementOf(of); }

std::string random_digits() { return *rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange('0', char('9' + 1)))); }

std::string random_number() {
  std::string out = pick({"", "-"}) + pick({"0", "1", "9007199254740991", "9007199254740992", "9223372036854775808", "18446744073709551616",
                                            "1" + random_digits()});
  if (*rc::gen::arbitrary<bool>()) out += "." + random_digits();
  if (*rc::gen::arbitrary<bool>())
    out += pick({"e", "E"}) + pick({"", "+", "-"}) + pick({"0", "5", "22", "308", "309", "323", "324", "400", random_digits()});
  return out;
}

std::string random_string() {
  std::string out = "\"";
  const auto part = rc::gen::elementOf(std::vector<std::string>{"a",
                                                                "key",
                                                                " ",
                                                                "\\n",
                                                                "\\\"",
                                                                "\\\\",
                                                                "\\/",
                                                                "\\u0041",
                                                                "\\u0000",
                                                                "\\u001f",
                                                                "\\u2028",
                                                                "\xe2\x80\xa8",
                                                                "\x7f",
                                                                "\xc3\xa4",
                                                                "\xee\x80\x80",
                                                                "\xf0\x9f\x98\x80",
                                                                "\\ud83d\\ude00",
                                                                "\\ud83d",
                                                                "\\ude00",
                                                                "\xed\xa0\x80",
                                                                "\xff",
                                                                "\n",
                                                                "\\q",
                                                                "some longer text to fill a vector register or two of it"});
  for (const std::string& piece : *rc::gen::scale(0.1, rc::gen::container<std::vector<std::string>>(part))) out += piece;
  return out + "\"";
}

std::string random_json(int depth) {
  const std::string space = pick({"", "", "", " ", "\n", "\t\r\n"});
  const int kind = *rc::gen::inRange(0, depth > 0 ? 9 : 6);
  std::string out;
  if (kind == 0) out = pick({"null", "true", "false"});
  if (kind == 1 || kind == 2) out = random_number();
  if (kind >= 3 && kind <= 5) out = random_string();
  if (kind > 5) {
    const bool object = kind > 6;
    for (int count = *rc::gen::inRange(0, 5); count > 0; --count) {
      if (!out.empty()) out += ",";
      if (object) out += random_string() + space + ":";
      out += random_json(depth - 1);
    }
    out = (object ? "{" : "[") + out + (object ? "}" : "]");
  }
  return space + out + space;
}

std::string mutate(std::string text) {
  const std::size_t at = *rc::gen::inRange<std::size_t>(0, text.size() + 1);
  switch (*rc::gen::inRange(0, 4)) {
    case 0:
      text.erase(std::min(at, text.size()), 1);
      break;
    case 1:
      text.insert(
          at, pick({"{", "}", "[", "]", ",", ":", "\"", "\\", "0", "-", ".", "e", "n", " ", "\xef\xbb\xbf", "\xff", std::string(1, '\0')}));
      break;
    case 2:
      text.insert(at, text.substr(at / 2));
      break;
    default:
      text.resize(at);
      break;
  }
  return text;
}

RC_GTEST_PROP(ParseAgreeTest, TheFastAndTheExactParserAgreeOnAnyText, ()) {
  for (int i = 0; i < 30; ++i) {
    std::string text = random_json(4);
    for (int times = *rc::gen::inRange(0, 3); times > 0; --times) text = mutate(std::move(text));
    RC_LOG() << text << std::endl;
    RC_ASSERT(fast(text) == exact(text));
  }
}

RC_GTEST_PROP(ParseAgreeTest, CanonicalTextIsItsOwnCanonicalText, ()) {
  for (int i = 0; i < 30; ++i) {
    const std::string text = random_json(4);
    Parser parser;
    const auto value = parser.parse(text);
    if (!value.ok()) continue;
    const std::string once = canonical(*value);
    RC_LOG() << text << std::endl;
    RC_ASSERT(fast(once) == once);
    RC_ASSERT(exact(once) == once);
  }
}

TEST(ParseAgreeTest, NestingAroundTheLimitIsOneMatter) {
  for (const std::size_t depth : {1, 63, 64, 65, 66, 1023, 1024, 1025, 100000}) {
    for (const std::string& text : {std::string(depth, '['), std::string(depth, '[') + std::string(depth, ']'), std::string(depth, '{')})
      EXPECT_EQ(fast(text), exact(text)) << depth;
  }
}

}  // namespace
}  // namespace weir::json
