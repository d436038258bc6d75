#include "session/pi_read.h"

#include <gtest/gtest.h>

#include <map>

#include "json/canonical.h"
#include "json/parse.h"
#include "testing/results.h"

namespace weir {
namespace {

using testing::must;

const std::string kHash(64, 'a'), kOther(64, 'b');

ReadRecord record(ReadMode mode) {
  ReadRecord out;
  out.mode = mode;
  out.path = "/repo/a.txt";
  out.full_scope = mode == ReadMode::unchanged || mode == ReadMode::diff || mode == ReadMode::full;
  out.total_lines = 9;
  out.range = out.full_scope ? LineRange{1, 9} : LineRange{2, 6};
  out.bytes = 100;
  out.served = kHash;
  if (!is_anchor(mode)) out.base = kOther;
  if (!is_marker(mode)) out.shown = {{2, 3}, {5, 6}};
  out.text_sha256 = kOther;
  out.reason = "hash_match";
  out.sent = 31;
  out.baseline = 100;
  return out;
}

std::string native(const ReadRecord& record) {
  json::Arena arena;
  return json::canonical(to_json(record, arena));
}
std::string to_pi(const ReadRecord& record, const ReadDebug& debug = {}) {
  json::Arena arena;
  return json::canonical(read_to_pi(record, "/link/a.txt", debug, arena));
}
std::optional<ReadRecord> from_pi(const std::string& details) {
  json::Parser parser;
  return read_from_pi(must(parser.parse(details)));
}
bool strict(const std::string& readcache) {
  json::Parser parser;
  return is_strict_pi_record(must(parser.parse(readcache)));
}

// What pi-readcache itself writes; a value of "" takes a member out.
std::string foreign(const std::map<std::string, std::string>& changes = {}) {
  std::map<std::string, std::string> members = {{"v", "1"},
                                                {"pathKey", R"("/repo/./x/../a.txt")"},
                                                {"scopeKey", R"("r:2:6")"},
                                                {"servedHash", R"("h2")"},
                                                {"mode", R"("full")"},
                                                {"totalLines", "9"},
                                                {"rangeStart", "2"},
                                                {"rangeEnd", "6"},
                                                {"bytes", "100"}};
  for (const auto& [key, value] : changes) members[key] = value;
  std::string out;
  for (const auto& [key, value] : members) {
    if (!value.empty()) out += (out.empty() ? "{\"" : ",\"") + key + "\":" + value;
  }
  return out + "}";
}
std::string details(const std::string& readcache, const std::string& truncation = "") {
  return R"({"readcache":)" + readcache + (truncation.empty() ? "" : R"(,"truncation":)" + truncation) + "}";
}

// ---- writing ----

TEST(PiReadTest, TheShapeIsPiReadcachesWithOneMemberMore) {
  ReadRecord marker = record(ReadMode::unchanged);
  EXPECT_EQ(
      to_pi(marker, {.base_found = true}),
      R"({"baseHash":")" + kOther +
          R"(","bytes":100,"debug":{"baseHashFound":true,"diffAttempted":false,"reason":"hash_match","scope":"full"},"mode":"unchanged",)"
          R"("pathKey":"/link/a.txt","rangeEnd":9,"rangeStart":1,"scopeKey":"full","servedHash":")" +
          kHash + R"(","totalLines":9,"v":1,"weir":{"baseline":100,"path":"/repo/a.txt","reason":"hash_match","sent":31,"shown":[],)" +
          R"("text_sha256":")" + kOther + R"("}})");
}

TEST(PiReadTest, DebugTellsWhatApplies) {
  const std::string text = to_pi(record(ReadMode::full_fallback), {true, true, true, false, 5, 6, 7, 8});
  EXPECT_NE(text.find(R"("debug":{"baseHashFound":true,"baseObjectFound":false,"diffAttempted":true,"diffBytes":7,"diffChangedLines":8,)"
                      R"("largestBytes":5,"maxLines":6,"outsideRangeChanged":true,"reason":"hash_match","scope":"range"})"),
            std::string::npos)
      << text;
}

TEST(PiReadTest, ReasonsAndModesAreInPiReadcachesWords) {
  const std::pair<const char*, const char*> words[] = {{"no_base_hash", "no_base_hash"},
                                                       {"bypass_cache", "bypass_cache"},
                                                       {"lines_not_shown", "no_base_hash"},
                                                       {"blocked_by_refresh", "no_base_hash"},
                                                       {"hash_match", "hash_match"},
                                                       {"range_slice_unchanged", "range_slice_unchanged"},
                                                       {"shifted", "range_slice_unchanged"},
                                                       {"range_slice_changed", "range_slice_changed"},
                                                       {"base_object_damaged", "base_object_missing"},
                                                       {"diff_deadline", "diff_not_useful"},
                                                       {"base_not_shown", "no_base_hash"},
                                                       {"view_differs", "no_base_hash"},
                                                       {"repeat_escape", "hash_match"},
                                                       {"marker_not_smaller", "hash_match"},
                                                       {"diff_emitted", "diff_emitted"},
                                                       {"diff_cut", "diff_emitted"},
                                                       {"diff_payload_truncated", "diff_payload_truncated"}};
  for (const auto& [ours, theirs] : words) {
    ReadRecord fallback = record(ReadMode::full_fallback);
    fallback.reason = ours;
    const std::string text = to_pi(fallback);
    EXPECT_NE(text.find(R"("reason":")" + std::string(theirs) + R"(","scope":"range"})"), std::string::npos) << ours;
    EXPECT_NE(text.find(R"("mode":"baseline_fallback")"), std::string::npos);
    EXPECT_TRUE(strict(text)) << ours;
    EXPECT_EQ(from_pi(details(text))->reason, ours);
  }
}

TEST(PiReadTest, EveryModeComesBackAsItWas) {
  for (const ReadMode mode :
       {ReadMode::full, ReadMode::full_fallback, ReadMode::unchanged, ReadMode::unchanged_range, ReadMode::diff, ReadMode::range_diff}) {
    ReadRecord each = record(mode);
    const auto back = from_pi(details(to_pi(each)));
    ASSERT_TRUE(back) << mode_name(mode);
    EXPECT_EQ(native(*back), native(each));
    EXPECT_FALSE(back->foreign);
    EXPECT_EQ(strict(to_pi(each)), mode != ReadMode::range_diff);
  }
  ReadRecord shifted = record(ReadMode::unchanged_range);
  shifted.from = LineRange{3, 7};
  EXPECT_EQ(native(*from_pi(details(to_pi(shifted)))), native(shifted));
}

TEST(PiReadTest, WhatVersionOneCannotSayIsVersionTwo) {
  ReadRecord cut = record(ReadMode::diff);
  EXPECT_NE(to_pi(cut).find(R"("v":1,"weir")"), std::string::npos);
  cut.known = {{1, 4}, {6, 9}};
  EXPECT_NE(to_pi(cut).find(R"("v":2,"weir")"), std::string::npos);
  EXPECT_FALSE(strict(to_pi(cut)));
  EXPECT_EQ(native(*from_pi(details(to_pi(cut)))), native(cut));
  EXPECT_NE(to_pi(record(ReadMode::range_diff)).find(R"("v":2,"weir")"), std::string::npos);
}

TEST(PiReadTest, TruncationIsWhatPiCallsIt) {
  json::Arena arena;
  const Truncation cut{Truncation::By::bytes, 9, 100, 3, 40, false};
  EXPECT_EQ(
      json::canonical(truncation_to_pi(cut, "a\nb\nc", 2000, 51200, arena)),
      R"({"content":"a\nb\nc","firstLineExceedsLimit":false,"lastLinePartial":false,"maxBytes":51200,"maxLines":2000,"outputBytes":40,)"
      R"("outputLines":3,"totalBytes":100,"totalLines":9,"truncated":true,"truncatedBy":"bytes"})");
}

// ---- records of pi-readcache ----

TEST(PiReadTest, ForeignRecordsAreRead) {
  const auto full = from_pi(details(foreign()));
  ASSERT_TRUE(full);
  EXPECT_TRUE(full->foreign);
  EXPECT_EQ(full->path, "/repo/a.txt");
  EXPECT_EQ(full->served, "h2");
  EXPECT_EQ(full->shown, (std::vector<LineRange>{{2, 6}}));
  EXPECT_FALSE(full->sent);
  const auto marker = from_pi(details(foreign({{"mode", R"("unchanged_range")"}, {"baseHash", R"("h1")"}})));
  ASSERT_TRUE(marker);
  EXPECT_TRUE(marker->shown.empty());
  EXPECT_EQ(marker->base, "h1");
  EXPECT_EQ(from_pi(details(foreign({{"mode", R"("baseline_fallback")"}})))->mode, ReadMode::full_fallback);
}

TEST(PiReadTest, AForeignRecordComesBackAsItWas) {
  const auto record = from_pi(details(foreign()));
  const auto back = from_pi(details(to_pi(*record)));
  ASSERT_TRUE(back);
  EXPECT_EQ(native(*back), native(*record));
  json::Parser parser;
  EXPECT_EQ(native(*parse_read_record(must(parser.parse(native(*record))))), native(*record));
}

TEST(PiReadTest, WhatAForeignAnchorShowedIsToldByItsTruncation) {
  const auto shown = [](const std::string& truncation) {
    std::string out;
    const auto record = from_pi(details(foreign(), truncation));
    for (const LineRange range : record->shown) out += std::to_string(range.first) + "-" + std::to_string(range.last);
    return out;
  };
  EXPECT_EQ(shown("null"), "2-6");
  EXPECT_EQ(shown(R"({"truncated":false})"), "2-6");
  EXPECT_EQ(shown(R"({"outputLines":3,"truncated":true})"), "2-4");
  EXPECT_EQ(shown(R"({"outputLines":1,"truncated":true})"), "2-2");
  EXPECT_EQ(shown(R"({"outputLines":99,"truncated":true})"), "2-6");
  EXPECT_EQ(shown(R"({"outputLines":0,"truncated":true})"), "");
  EXPECT_EQ(shown(R"({"firstLineExceedsLimit":true,"outputLines":3,"truncated":true})"), "");
  // What cannot be told was not shown.
  for (const char* odd : {R"({"truncated":true})", R"({"outputLines":"3","truncated":true})", R"({"outputLines":-1,"truncated":true})",
                          R"({"outputLines":3,"truncated":"yes"})", "{}", "7"})
    EXPECT_EQ(shown(odd), "") << odd;
}

TEST(PiReadTest, ABadDebugIsDroppedAndNotTheRecord) {
  for (const char* debug : {"null", "7", "{}", R"({"reason":"new one"})", R"({"reason":7})", "[]"})
    EXPECT_TRUE(from_pi(details(foreign({{"debug", debug}})))) << debug;
}

TEST(PiReadTest, ADiffOfVersionTwoHoldsNothingByItself) {
  EXPECT_EQ(from_pi(details(foreign({{"v", "2"}})))->shown.size(), 1u);
  const auto diff = from_pi(details(foreign({{"v", "2"}, {"mode", R"("range_diff")"}, {"baseHash", R"("b")"}})));
  ASSERT_TRUE(diff);
  EXPECT_TRUE(diff->known && diff->known->empty());
}

TEST(PiReadTest, WhatIsNoRecordIsIgnored) {
  const std::map<std::string, std::string> broken[] = {{{"v", "3"}},
                                                       {{"v", ""}},
                                                       {{"v", R"("1")"}},
                                                       {{"pathKey", R"("a.txt")"}},
                                                       {{"pathKey", ""}},
                                                       {{"scopeKey", R"("r:2:7")"}},
                                                       {{"scopeKey", R"("full")"}},
                                                       {{"servedHash", R"("")"}},
                                                       {{"servedHash", ""}},
                                                       {{"mode", R"("other")"}},
                                                       {{"mode", R"("unchanged_range")"}},  // without a base
                                                       {{"rangeStart", "7"}},
                                                       {{"rangeEnd", R"("6")"}},
                                                       {{"totalLines", "5"}},
                                                       {{"bytes", "-1"}}};
  for (const auto& changes : broken) EXPECT_FALSE(from_pi(details(foreign(changes)))) << foreign(changes);
  for (const char* text : {"{}", "7", "null", R"({"readcache":7})", R"({"readcache":null})", R"({"readcache":{}})"})
    EXPECT_FALSE(from_pi(text)) << text;
  // Ours must keep our rules.
  EXPECT_FALSE(from_pi(details(foreign({{"weir", R"({"path":"/a","shown":[[2,6]],"reason":"x"})"}}))));
}

// ---- refresh ----

TEST(PiReadTest, ARefreshIsACustomEntryThere) {
  json::Arena arena;
  json::Parser parser;
  const RefreshBody refresh{"/repo/a.txt", ReadScope{false, {2, 6}}};
  const std::string data = json::canonical(refresh_to_pi(refresh, 1234, arena));
  EXPECT_EQ(data, R"({"at":1234,"kind":"invalidate","pathKey":"/repo/a.txt","scopeKey":"r:2:6","v":1})");
  const auto back = refresh_from_pi(must(parser.parse(data)));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->path, refresh.path);
  EXPECT_EQ(back->scope, refresh.scope);
  EXPECT_EQ(refresh_from_pi(must(parser.parse(R"({"kind":"invalidate","pathKey":"/a//b/../c","scopeKey":"full","v":1})")))->path, "/a/c");
  for (const char* bad :
       {R"({"kind":"other","pathKey":"/a","scopeKey":"full","v":1})", R"({"kind":"invalidate","pathKey":"a","scopeKey":"full","v":1})",
        R"({"kind":"invalidate","pathKey":"/a","scopeKey":"r:2","v":1})", R"({"kind":"invalidate","pathKey":"/a","scopeKey":"full"})", "7"})
    EXPECT_FALSE(refresh_from_pi(must(parser.parse(bad)))) << bad;
}

// ---- the strict validator ----

TEST(PiReadTest, TheStrictValidatorTakesNoBadDebug) {
  const std::string debug = R"({"baseHashFound":true,"diffAttempted":false,"reason":"hash_match","scope":"full")";
  EXPECT_TRUE(strict(foreign()));
  EXPECT_TRUE(strict(foreign({{"debug", debug + "}"}})));
  EXPECT_TRUE(strict(foreign({{"debug", debug + R"(,"diffBytes":0,"largestBytes":1,"outsideRangeChanged":false})"}})));
  for (const char* more : {R"(,"diffBytes":-1})", R"(,"largestBytes":0})", R"(,"maxLines":"1"})", R"(,"outsideRangeChanged":1})",
                           R"(,"baseObjectFound":null})"})
    EXPECT_FALSE(strict(foreign({{"debug", debug + more}}))) << more;
  for (const char* bad : {"null", "7", "{}", R"({"baseHashFound":true,"diffAttempted":false,"reason":"diff_cut","scope":"full"})",
                          R"({"baseHashFound":true,"diffAttempted":false,"reason":"hash_match","scope":"r:1:2"})",
                          R"({"baseHashFound":true,"reason":"hash_match","scope":"full"})"})
    EXPECT_FALSE(strict(foreign({{"debug", bad}}))) << bad;
}

TEST(PiReadTest, TheStrictValidatorKnowsVersionOneOnly) {
  const std::map<std::string, std::string> broken[] = {{{"v", "2"}},
                                                       {{"pathKey", R"("")"}},
                                                       {{"scopeKey", R"("r:9:2")"}},
                                                       {{"servedHash", R"("")"}},
                                                       {{"mode", R"("x")"}},
                                                       {{"mode", R"("diff")"}},
                                                       {{"mode", R"("full_fallback")"}},
                                                       {{"baseHash", "null"}},
                                                       {{"baseHash", "7"}},
                                                       {{"totalLines", "0"}},
                                                       {{"rangeStart", "0"}},
                                                       {{"rangeEnd", "1"}},
                                                       {{"bytes", "-1"}},
                                                       {{"bytes", "1.5"}},
                                                       {{"mode", R"("range_diff")"}, {"baseHash", R"("h")"}}};
  for (const auto& changes : broken) EXPECT_FALSE(strict(foreign(changes))) << foreign(changes);
  EXPECT_TRUE(strict(foreign({{"mode", R"("diff")"}, {"baseHash", R"("h")"}})));
  EXPECT_TRUE(strict(foreign({{"mode", R"("baseline_fallback")"}})));
  EXPECT_TRUE(strict(foreign({{"pathKey", R"("relative")"}, {"totalLines", "3"}})));
  for (const char* text : {"7", "null", "[]", "{}"}) EXPECT_FALSE(strict(text)) << text;
}

}  // namespace
}  // namespace weir
