#include "ctree/breadboard_records.h"

#include <gtest/gtest.h>

#include "ctree/breadboard_read.h"
#include "ctree/breadboard_text.h"
#include "testing/results.h"

namespace weir::breadboard {
namespace {

using testing::code;
using testing::detail;
using testing::must;

constexpr std::string_view kHeader = "{\"_type\":\"ctree_eventlog_header\",\"schema_version\":\"0.1\"}\n";
constexpr std::string_view kRecord = "{\"kind\":\"note\",\"payload\":1}\n";

// "header 1, torn 3" and so on.
std::string findings(const RecordFile& file) {
  std::string out;
  for (const Finding& finding : file.findings) {
    out += (out.empty() ? "" : ", ") + std::string(name(finding.what)) + " " + std::to_string(finding.line);
    if (finding.other_line != 0) out += " of " + std::to_string(finding.other_line);
  }
  return out;
}

RecordFile read(const std::string& text) { return must(read_record_file(text)); }

TEST(BreadboardRecordsTest, LinesWithoutARecordAreListed) {
  const RecordFile file = read(std::string(kHeader) + "\n[]\n{\"payload\":1}\n{\"kind\":\"\"}\n{\n" + std::string(kRecord) + " \t\n5");
  EXPECT_EQ(findings(file), "header 1, blank 2, not_object 3, no_kind 4, no_kind 5, unparsable 6, blank 8, not_object 9");
  EXPECT_EQ(file.store.size(), 1u);
  EXPECT_EQ(file.schema_version, "0.1");
}

TEST(BreadboardRecordsTest, ATornLastLineIsToleratedAndAWholeOneIsARecord) {
  const std::string whole = std::string(kHeader) + std::string(kRecord);
  for (std::size_t cut = kHeader.size() + 1; cut < whole.size() - 1; ++cut) {
    const RecordFile file = read(whole.substr(0, cut));
    EXPECT_EQ(findings(file), "header 1, torn 2") << cut;
    EXPECT_EQ(file.store.size(), 0u);
  }
  EXPECT_EQ(findings(read(whole.substr(0, whole.size() - 1))), "header 1");
  EXPECT_EQ(read(whole.substr(0, whole.size() - 1)).store.size(), 1u);
  EXPECT_EQ(findings(read("{\"kind\":\"\xC3")), "torn 1");
  EXPECT_EQ(findings(read(std::string(kRecord) + "\xF0\x9F\x98")), "torn 2");
}

TEST(BreadboardRecordsTest, AnIdGivenTwiceIsAWarningWithBothLines) {
  const RecordFile file =
      read("{\"kind\":\"a\",\"node_id\":\"x\"}\n\n{\"kind\":\"b\",\"node_id\":\"x\"}\n{\"kind\":\"c\",\"node_id\":\"x\"}\n");
  EXPECT_EQ(findings(file), "blank 2, duplicate_id 3 of 1, duplicate_id 4 of 1");
  EXPECT_EQ(file.findings[1].message, "x");
  EXPECT_EQ(file.store.size(), 3u);
  EXPECT_EQ(file.store.last_of(0).kind, "c");
}

TEST(BreadboardRecordsTest, LinesAreCutWherePythonCutsThem) {
  EXPECT_EQ(read("{\"kind\":\"a\"}\r\n{\"kind\":\"b\"}\r{\"kind\":\"c\"}\f{\"kind\":\"d\"}\u2028{\"kind\":\"e\"}").store.size(), 5u);
  EXPECT_EQ(findings(read("{\"kind\":\"a\",\"payload\":\"\u2028\"}\n{\"kind\":\"b\"}\n")), "unparsable 1, unparsable 1");
  EXPECT_EQ(findings(read("\u00a0{\"kind\":\"a\"}\u3000\n")), "");
  EXPECT_EQ(findings(read("\ufeff{\"kind\":\"a\"}\n")), "unparsable 1");
}

TEST(BreadboardRecordsTest, AFileThatIsNoUtf8IsRefusedWhole) {
  const auto file = read_record_file(std::string(kRecord) + "\xFF\n" + std::string(kRecord));
  EXPECT_EQ(code(file), "INVALID_JSON");
  EXPECT_EQ(detail(file.error(), "line"), "2");
}

TEST(BreadboardRecordsTest, AKindOrIdWithoutATextIsNotReproducible) {
  const auto file = read_record_file("\n{\"kind\":[1]}\n");
  EXPECT_EQ(code(file), "NOT_REPRODUCIBLE");
  EXPECT_EQ(detail(file.error(), "line"), "2");
  EXPECT_EQ(code(read_record_file("{\"kind\":\"a\",\"node_id\":{\"a\":1}}")), "NOT_REPRODUCIBLE");
  EXPECT_EQ(read("{\"kind\":5,\"node_id\":true}").store[0].kind, "5");
  EXPECT_EQ(read("{\"kind\":5,\"node_id\":true}").store[0].id, "True");
}

TEST(BreadboardRecordsTest, OneRecordNeedsAKindWhichMayBeEmpty) {
  EXPECT_EQ(must(record_of(must(read_json("{\"kind\":\"\"}")))).kind, "");
  for (const char* text : {"{}", "[]", "{\"kind\":null}", "{\"kind\":0}"})
    EXPECT_EQ(code(record_of(must(read_json(text)))), "INVALID_FIELD") << text;
}

TEST(BreadboardRecordsTest, AMessageOfALogHasFourMembers) {
  const Record record = must(record_of_message(R"({"content":"hi","role":"user","stop":1})", 3));
  EXPECT_EQ(digest_preimage(record),
            R"({"kind":"message","payload":{"content":"hi","name":null,"role":"user","tool_calls":null},"turn":3})");
  EXPECT_EQ(code(record_of_message("[]", 3)), "INVALID_FIELD");
  EXPECT_EQ(code(record_of_message("{", 3)), "INVALID_JSON");
}

TEST(BreadboardRecordsTest, TheRawTextOfANodeIsTakenBeforeItsBody) {
  EXPECT_EQ(plain(must(record_of_ctree_node(R"({"kind":"a","payload":1,"raw":"{\"kind\":\"b\",\"payload\":1.0}"})")).payload), "1.0");
  EXPECT_EQ(plain(must(record_of_ctree_node(R"({"kind":"a","payload":1})")).payload), "1");
  EXPECT_EQ(code(record_of_ctree_node(R"({"kind":"a","raw":"{"})")), "INVALID_JSON");
}

TEST(BreadboardRecordsTest, NodeHashRunsAlong) {
  Store store;
  EXPECT_EQ(store.node_hash(), "97d170e1550eee4afc0af065b78cda302a97674c");
  std::vector<Value> digests;
  for (int i = 0; i < 20; ++i) {
    digests.emplace_back(store.record({"note", i, i, {}}).digest);
    EXPECT_EQ(store.node_hash(), sha1_of_plain(Value::array(digests)));
  }
  EXPECT_EQ(plain(snapshot(store, true)), "{\"backfilled_from_eventlog\":true,\"event_count\":20,\"last_id\":\"" + store[19].id +
                                              "\",\"node_count\":20,\"node_hash\":null,\"schema_version\":\"0.1\"}");
}

}  // namespace
}  // namespace weir::breadboard
