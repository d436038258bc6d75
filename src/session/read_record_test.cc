#include "session/read_record.h"

#include <gtest/gtest.h>

#include <random>

#include "json/canonical.h"
#include "json/parse.h"
#include "testing/results.h"

namespace weir {
namespace {

using testing::must;

const std::string kHash(64, 'a'), kOther(64, 'b');
const std::string kExample =
    R"({"baseline":17,"bytes":17,"end":4,"mode":"full","path":"/repo/a.txt","reason":"no_base_hash","scope":"full","sent":17,)"
    R"("served":"4fdbc441ea7b546100e086ac1e4fc5ae6749b7314311c99db05be450eca12996","shown":[[1,4]],"start":1,)"
    R"("text_sha256":"4fdbc441ea7b546100e086ac1e4fc5ae6749b7314311c99db05be450eca12996","total_lines":4,"v":1})";

std::optional<ReadRecord> parse(const std::string& text) {
  json::Parser parser;
  return parse_read_record(must(parser.parse(text)));
}
std::string write(const ReadRecord& record) {
  json::Arena arena;
  return json::canonical(to_json(record, arena));
}

// A valid record of lines 2-6 of 9, with members exchanged; a value of "" takes the member out.
std::string record(const std::string& mode, const std::vector<std::pair<std::string, std::string>>& changes = {}) {
  const bool whole = mode == "unchanged" || mode == "diff";
  std::map<std::string, std::string> members = {{"v", "1"},
                                                {"mode", '"' + mode + '"'},
                                                {"path", R"("/f")"},
                                                {"scope", whole ? R"("full")" : R"("r:2:6")"},
                                                {"start", whole ? "1" : "2"},
                                                {"end", whole ? "9" : "6"},
                                                {"total_lines", "9"},
                                                {"bytes", "100"},
                                                {"served", '"' + kHash + '"'},
                                                {"shown", mode.starts_with("unchanged") ? "[]" : "[[2,3],[5,6]]"},
                                                {"text_sha256", '"' + kOther + '"'},
                                                {"reason", R"("x")"}};
  if (!mode.starts_with("full")) members["base"] = '"' + kOther + '"';
  for (const auto& [key, value] : changes) members[key] = value;
  std::string out;
  for (const auto& [key, value] : members) {
    if (!value.empty()) out += (out.empty() ? "{\"" : ",\"") + key + "\":" + value;
  }
  return out + "}";
}

constexpr const char* kModes[] = {"full", "full_fallback", "unchanged", "unchanged_range", "diff", "range_diff"};

TEST(ReadRecordTest, TheExampleOfTheContractIsReadAndWrittenByteForByte) {
  const auto record = parse(kExample);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->mode, ReadMode::full);
  EXPECT_EQ(record->range, (LineRange{1, 4}));
  EXPECT_EQ(record->shown, (std::vector<LineRange>{{1, 4}}));
  EXPECT_TRUE(record->base.empty());
  EXPECT_EQ(write(*record), kExample);
}

TEST(ReadRecordTest, EveryModeComesBackAsItWas) {
  for (const char* mode : kModes) {
    const auto plain = parse(record(mode));
    ASSERT_TRUE(plain) << mode;
    EXPECT_EQ(write(*plain), record(mode));
    EXPECT_EQ(mode_name(plain->mode), mode);
  }
  const std::string cut = record("diff", {{"known", "[[1,4],[6,9]]"}, {"sent", "5"}, {"baseline", "7"}});
  EXPECT_EQ(write(*parse(cut)), cut);
  const std::string shifted = record("unchanged_range", {{"from", "[3,7]"}});
  EXPECT_EQ(write(*parse(shifted)), shifted);
  const std::string fallback = record("full_fallback", {{"base", '"' + kOther + '"'}});
  EXPECT_EQ(write(*parse(fallback)), fallback);
}

TEST(ReadRecordTest, BothNamesOfTheFallbackAreOneMode) {
  EXPECT_EQ(parse_mode("baseline_fallback"), ReadMode::full_fallback);
  EXPECT_EQ(parse_mode("full_fallback"), ReadMode::full_fallback);
  EXPECT_EQ(write(*parse(record("baseline_fallback", {{"base", ""}}))), record("full_fallback"));
}

TEST(ReadRecordTest, UnknownMembersAndReasonsHaveNoEffect) {
  EXPECT_TRUE(parse(record("full", {{"reason", R"("never heard of")"}, {"zzz", R"({"deep":[1,2]})"}, {"debug", "7"}})));
  EXPECT_EQ(parse(record("full", {{"reason", R"("never heard of")"}}))->reason, "never heard of");
}

TEST(ReadRecordTest, AnAbsentAndANullBaseAreOne) {
  EXPECT_TRUE(parse(record("full", {{"base", "null"}}))->base.empty());
  EXPECT_TRUE(parse(record("full_fallback", {{"base", "null"}}))->base.empty());
  for (const char* mode : {"unchanged", "unchanged_range", "diff", "range_diff"}) {
    EXPECT_FALSE(parse(record(mode, {{"base", ""}}))) << mode;
    EXPECT_FALSE(parse(record(mode, {{"base", "null"}}))) << mode;
  }
}

TEST(ReadRecordTest, ARecordThatBreaksARuleIsIgnored) {
  for (const char* key :
       {"v", "mode", "path", "scope", "start", "end", "total_lines", "bytes", "served", "shown", "text_sha256", "reason"}) {
    EXPECT_FALSE(parse(record("full", {{key, ""}}))) << key << " is missing";
    EXPECT_FALSE(parse(record("full", {{key, "null"}}))) << key << " is null";
    EXPECT_FALSE(parse(record("full", {{key, "{}"}}))) << key << " is an object";
    EXPECT_FALSE(parse(record("full", {{key, "-1"}}))) << key << " is negative";
    EXPECT_FALSE(parse(record("full", {{key, "1.5"}}))) << key << " is a fraction";
    EXPECT_FALSE(parse(record("full", {{key, "99999999999999999999"}}))) << key << " is huge";
  }
  const std::pair<const char*, const char*> broken[] = {
      {"v", "2"},
      {"v", "0"},
      {"v", R"("1")"},
      {"mode", R"("Full")"},
      {"mode", R"("unchanged")"},  // of a range
      {"mode", R"("diff")"},
      {"path", R"("f")"},
      {"path", R"("")"},
      {"path", R"("/a//b")"},
      {"path", R"("/a/../b")"},
      {"path", R"("/a/")"},
      {"path", R"("/a\u0000b")"},
      {"scope", R"("full")"},  // with the numbers of a range
      {"scope", R"("r:2:5")"},
      {"scope", R"("r:02:6")"},
      {"scope", R"("r:6:2")"},
      {"scope", R"("r:2:6:7")"},
      {"scope", R"("r:2")"},
      {"scope", R"("r: 2:6")"},
      {"start", "0"},
      {"end", "10"},
      {"total_lines", "5"},
      {"total_lines", "0"},
      {"served", R"("abc")"},
      {"base", R"("abc")"},
      {"base", R"("")"},
      {"base", "7"},
      {"text_sha256", R"("")"},
      {"shown", "[[6,5]]"},
      {"shown", "[[1,3]]"},
      {"shown", "[[2,7]]"},
      {"shown", "[[2,3],[4,5]]"},  // they touch
      {"shown", "[[2,3],[3,5]]"},
      {"shown", "[[5,6],[2,3]]"},
      {"shown", "[[2]]"},
      {"shown", "[[2,3,4]]"},
      {"shown", "[2,3]"},
      {"shown", R"([["2","3"]])"},
      {"known", "[[2,6]]"},  // of no diff
      {"from", "[2,6]"},     // of no marker
      {"sent", "-1"},
      {"sent", R"("1")"},
      {"baseline", "1.5"},
  };
  for (const auto& [key, value] : broken) EXPECT_FALSE(parse(record("full", {{key, value}}))) << key << " " << value;
  EXPECT_FALSE(parse(record("full", {{"served", '"' + std::string(64, 'A') + '"'}})));
  EXPECT_FALSE(parse(record("full", {{"path", "\"/" + std::string(4096, 'x') + '"'}})));
  EXPECT_TRUE(parse(record("full", {{"path", "\"/" + std::string(4095, 'x') + '"'}})));
  for (const char* text : {"7", "[]", "null", R"("full")"}) EXPECT_FALSE(parse(text)) << text;
}

TEST(ReadRecordTest, RulesOfTheModes) {
  EXPECT_FALSE(parse(record("unchanged", {{"scope", R"("r:1:9")"}})));
  EXPECT_FALSE(parse(record("range_diff", {{"scope", R"("full")"}, {"start", "1"}, {"end", "9"}})));
  EXPECT_FALSE(parse(record("unchanged_range", {{"shown", "[[2,3]]"}})));
  EXPECT_FALSE(parse(record("unchanged_range", {{"from", "[3,6]"}})));  // of another length
  EXPECT_FALSE(parse(record("unchanged_range", {{"from", "[0,4]"}})));
  EXPECT_FALSE(parse(record("unchanged_range", {{"from", "[]"}})));
  EXPECT_FALSE(parse(record("unchanged", {{"from", "[1,9]"}})));
  EXPECT_FALSE(parse(record("diff", {{"known", "[[1,10]]"}})));
  EXPECT_FALSE(parse(record("diff", {{"known", "7"}})));
  EXPECT_TRUE(parse(record("range_diff", {{"known", "[[2,6]]"}})));
  EXPECT_FALSE(parse(record("range_diff", {{"known", "[[1,6]]"}})));
}

TEST(ReadRecordTest, AtMost4096RangesAreShown) {
  const auto shown = [](int ranges) {
    std::string list;
    for (int i = 0; i < ranges; ++i)
      list += (i == 0 ? "" : ",") + ("[" + std::to_string(2 * i + 2) + "," + std::to_string(2 * i + 2) + "]");
    return record("full", {{"shown", "[" + list + "]"}, {"scope", R"("r:2:9000")"}, {"end", "9000"}, {"total_lines", "9000"}});
  };
  EXPECT_TRUE(parse(shown(4096)));
  EXPECT_FALSE(parse(shown(4097)));
}

TEST(ReadRecordTest, NumbersOfLinesStayBelowTheLargest) {
  const auto up_to = [](const std::string& last) {
    return record("full", {{"scope", "\"r:2:" + last + '"'}, {"end", last}, {"total_lines", last}});
  };
  EXPECT_TRUE(parse(up_to("4294967294")));
  EXPECT_FALSE(parse(up_to("4294967295")));
  EXPECT_FALSE(parse(up_to("4294967296")));
}

TEST(ReadRecordTest, MutatedRecordsAreReadOrIgnored) {
  std::mt19937_64 random(11);
  const auto upto = [&](std::size_t most) { return random() % (most + 1); };
  const std::string bytes = "0123456789abr:,[]{}\"-.efulnt/\\ ";
  int read = 0;
  for (int i = 0; i < 10'000; ++i) {
    std::string text = record(kModes[upto(5)], {{"known", upto(3) == 0 ? "[[2,4]]" : ""}, {"from", upto(3) == 0 ? "[1,5]" : ""}});
    for (std::size_t n = 1 + upto(3); n > 0; --n) {
      const std::size_t at = upto(text.size() - 1);
      if (upto(2) == 0) {
        text.erase(at, 1 + upto(4));
      } else if (upto(1) == 0) {
        text.insert(at, 1, bytes[upto(bytes.size() - 1)]);
      } else {
        text[at] = bytes[upto(bytes.size() - 1)];
      }
      if (text.empty()) text = "{}";
    }
    json::Parser parser;
    const auto value = parser.parse(text);
    if (!value.ok()) continue;
    const auto record = parse_read_record(*value);
    if (!record) continue;
    ++read;
    ASSERT_TRUE(is_consistent(*record)) << text;
    ASSERT_EQ(write(*parse(write(*record))), write(*record)) << text;
  }
  EXPECT_GT(read, 100);
}

// ---- scopes and refreshes ----

TEST(ReadScopeTest, ScopesAreFullOrARange) {
  EXPECT_EQ(ReadScope::parse("full"), ReadScope{});
  EXPECT_EQ(ReadScope::parse("r:3:9"), (ReadScope{false, {3, 9}}));
  EXPECT_EQ(ReadScope::parse("r:3:9")->text(), "r:3:9");
  EXPECT_EQ(ReadScope{}.text(), "full");
  for (const char* bad : {"", "Full", "r:", "r:3", "r:3:", "r::3", "r:0:3", "r:9:3", "r:3:09", "r:+3:9", "r:3:9 ", "r:3:4294967295"})
    EXPECT_FALSE(ReadScope::parse(bad)) << bad;
}

TEST(RefreshTest, ARefreshComesBackAsItWas) {
  json::Parser parser;
  for (const std::string body : {R"({"path":"/f","scope":"full","v":1})", R"({"path":"/f","scope":"r:2:3","v":1})"}) {
    const auto refresh = parse_refresh(must(parser.parse(body)));
    ASSERT_TRUE(refresh);
    json::Arena arena;
    EXPECT_EQ(json::canonical(to_json(*refresh, arena)), body);
  }
  for (const std::string bad :
       {R"({"path":"/f","scope":"full"})", R"({"path":"/f","scope":"full","v":2})", R"({"path":"f","scope":"full","v":1})",
        R"({"path":"/f","scope":"r:3:2","v":1})", R"({"scope":"full","v":1})", R"({"path":"/f","v":1})", "7"})
    EXPECT_FALSE(parse_refresh(must(parser.parse(bad)))) << bad;
}

}  // namespace
}  // namespace weir
