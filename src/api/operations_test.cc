#include <gtest/gtest.h>

#include <set>

#include "api/call.h"
#include "json/parse.h"
#include "testing/api_world.h"
#include "testing/results.h"
#include "testing/schema_check.h"

namespace weir::api {
namespace {

using testing::Answered;
using testing::ApiWorld;
using testing::must;

class OperationsTest : public ::testing::Test {
 protected:
  OperationsTest() { world_.fill(); }
  ApiWorld world_;
};

std::string fault_of(const Operation& operation, const std::string& text) {
  json::Parser schema, answer;
  return testing::schema_fault(must(schema.parse(operation.schema)), must(answer.parse(text)));
}

TEST_F(OperationsTest, EveryExampleIsAnsweredAsItsSchemaSays) {
  for (const Operation& operation : operations()) {
    SCOPED_TRACE(std::string(operation.id));
    if (operation.answers == Answers::events) continue;
    ASSERT_FALSE(operation.example.empty());
    const Answered answered = world_.ask(operation.id, operation.example);
    ASSERT_EQ(testing::code(answered.result), "OK") << (answered.result.ok() ? "" : answered.result.error().message());
    if (operation.answers == Answers::json) {
      EXPECT_EQ(fault_of(operation, answered.reply.text), "") << answered.reply.text.substr(0, 3000);
    } else if (operation.answers == Answers::lines) {
      EXPECT_FALSE(answered.lines.empty());
      for (const std::string& line : answered.lines) EXPECT_EQ(fault_of(operation, line), "");
    }
    EXPECT_EQ(!answered.reply.etag.empty(), operation.immutable);
  }
}

// Answers that have several forms, each in one.
TEST_F(OperationsTest, OtherAnswersMeetTheSchemasToo) {
  world_.answer("read", R"({"session":"demo","path":"notes.txt"})");
  world_.answer("appendEntries", R"({"session":"demo","entries":[{"id":"w","type":"message","body":{"role":"user","content":"Hm."}}]})");
  testing::write_file(world_.files() + "/picture.png", "\x89PNG\r\n\x1a\n");
  testing::write_file(world_.files() + "/notes.txt", "one\ntwo\nfour\n");
  const std::vector<std::pair<std::string, std::string>> kMore = {
      {"read", R"("path":"notes.txt")"},
      {"read", R"("path":"notes.txt")"},
      {"read", R"("path":"notes.txt:1-2")"},
      {"read", R"("path":"notes.txt","record":"none")"},
      {"read", R"("path":"notes.txt","record":"host","call_id":"c9","turn":"a1","offset":1,"limit":2)"},
      {"read", R"("path":"picture.png")"},
      {"getReads", R"("path":"notes.txt")"},
      {"getReads", R"("path":"never.txt")"},
      {"getReadDigest", R"("at":"u2")"},
      {"appendEntries", R"("entries":[{"type":"message","body":{"role":"user","content":"AKIAIOSFODNN7EXAMPLE"}}])"},
      {"listEntries", R"("head":"side","limit":500)"},
      {"getEntry", R"("entry":"u2","resolve":true)"},
      {"putHead", R"("head":"main2","entry":null)"},
      {"getCtrees", R"("at":"s1","full":true)"},
      {"getCtreesTree", R"("stage":"RAW","show":"all","include_previews":true)"},
      {"getCtreesEvents", R"("offset":99)"},
      {"getCtrees", R"("profile":"breadboard-0.1")"},
      {"getCtreesTree", R"("profile":"breadboard-0.1","stage":"RAW","include_previews":true)"},
      {"getStage", R"("profile":"breadboard-0.1","name":"HEADER")"},
      {"getStage", R"("name":"FROZEN","include_previews":true,"head":"side")"},
      {"explain", R"("nodes":["u3"])"},
      {"diff", R"("a":"u2","b":"u3","what":"entries")"},
      {"diff", R"("a":"u2","b":"@u3","what":"context")"},
      {"diff", R"("a":"u3","b":"u3","previews":true)"},
      {"context", R"("format":"anthropic","budget_bytes":9000,"request":{"intent":{"why":"test"}})"},
      {"context", R"("format":"openai","at":"u1","config":{"reserve_bytes":10})"},
      {"due", R"("event_threshold":1,"n_step_fallback":1)"},
      {"compact", R"("if_due":true)"},
      {"compact", ""},
      {"compact", ""},
      {"getSnapshot", R"("n":"last")"},
      {"note", R"("kind":"failure","category":"TOOL","where":"here","text":"It broke.")"},
      {"research", R"("step":"init","query":"Why?","dry_run":true)"},
      {"history", R"("q":"cache","limit":1)"},
      {"history", R"("q":"c.che","regex":true,"type":["message"])"},
  };
  for (const auto& [id, arguments] : kMore) {
    SCOPED_TRACE(id + " " + arguments);
    const Answered answered = world_.ask(id, R"({"session":"demo")" + (arguments.empty() ? "" : "," + arguments) + "}");
    ASSERT_EQ(testing::code(answered.result), "OK") << (answered.result.ok() ? "" : answered.result.error().message());
    EXPECT_EQ(fault_of(*find_operation(id), answered.reply.text), "") << answered.reply.text.substr(0, 2000);
  }
  EXPECT_EQ(fault_of(*find_operation("stats"), world_.answer("stats", "{}")), "");
}

TEST_F(OperationsTest, WhatWasReadTwiceIsAMarkerAndAfterACompactionTheTextAgain) {
  const auto read = [&] {
    json::Parser parser;
    const Answered answered = world_.ask("read", R"({"session":"demo","path":"notes.txt"})");
    answered.reply.receipt->received();
    return std::string(must(parser.parse(answered.reply.text)).text_or("text", ""));
  };
  world_.answer("appendEntries", R"({"session":"demo","entries":[{"type":"session_info","body":{"barrier_feed":true}}]})");
  EXPECT_EQ(read(), "one\ntwo\nthree\n");
  EXPECT_EQ(read(), "[readcache: unchanged, 4 lines]");
  world_.answer("compact", R"({"session":"demo"})");
  EXPECT_EQ(read(), "one\ntwo\nthree\n");
  // An answer that nobody got does not count.
  const Answered lost = world_.ask("read", R"({"session":"demo","path":"long.txt"})");
  ASSERT_TRUE(lost.reply.receipt);
  lost.reply.receipt->lost();
  EXPECT_EQ(world_.answer("read", R"({"session":"demo","path":"long.txt"})"), lost.reply.text);
}

TEST_F(OperationsTest, ARelativePathBeginsWhereTheCallTheSessionOrTheProcessSays) {
  const auto path = [&](const std::string& more) {
    json::Parser parser;
    const std::string text = world_.answer("read", R"({"session":"placed","path":"notes.txt")" + more + "}");
    return std::string(must(parser.parse(text)).find("record")->text_or("path", ""));
  };
  testing::must(Doors{}.files.make_directories(world_.files() + "/a"));
  testing::must(Doors{}.files.make_directories(world_.files() + "/b"));
  for (const char* place : {"/a/notes.txt", "/b/notes.txt"}) testing::write_file(world_.files() + place, "x\n");
  EXPECT_EQ(path(""), world_.files() + "/notes.txt");
  world_.answer("appendEntries",
                R"({"session":"placed","entries":[{"type":"session_info","body":{"cwd":")" + world_.files() + R"(/a"}}]})");
  EXPECT_EQ(path(""), world_.files() + "/a/notes.txt");
  EXPECT_EQ(path(R"(,"cwd":")" + world_.files() + R"(/b")"), world_.files() + "/b/notes.txt");
  world_.world().working_directory.clear();
  EXPECT_EQ(world_.wrong("read", R"({"session":"other","path":"notes.txt"})"), "/path");
  EXPECT_EQ(world_.code("read", R"({"session":"other","path":")" + world_.files() + R"(/notes.txt"})"), "OK");
}

TEST_F(OperationsTest, EntriesSnapshotsAndBlobsAreTaggedByTheirDigests) {
  const auto tag = [&](std::string_view operation, std::string_view arguments) { return world_.ask(operation, arguments).reply.etag; };
  json::Parser parser;
  const std::string entry = world_.answer("getEntry", R"({"session":"demo","entry":"u1"})");
  EXPECT_EQ(tag("getEntry", R"({"session":"demo","entry":"u1"})"), must(parser.parse(entry)).text_or("digest", ""));
  EXPECT_NE(tag("getEntry", R"({"session":"demo","entry":"u1","resolve":true})"), tag("getEntry", R"({"session":"demo","entry":"u1"})"));
  json::Parser other;
  const std::string snapshot = world_.answer("getSnapshot", R"({"session":"demo","n":"1"})");
  const std::string id(must(other.parse(snapshot)).text_or("snapshot_id", ""));
  EXPECT_EQ(tag("getSnapshot", R"({"session":"demo","n":"1"})"), id);
  EXPECT_EQ(tag("getSnapshotNarrative", R"({"session":"demo","n":"1"})"), id);
  EXPECT_EQ(tag("getSnapshot", R"({"session":"demo","n":"last"})"), "");
  EXPECT_EQ(tag("getSnapshotNarrative", R"({"session":"demo","n":"last"})"), "");
  EXPECT_NE(tag("getSnapshotNarrative", R"({"session":"demo","n":"1","max_bytes":1000})"), id);
  EXPECT_EQ(world_.answer("getBlob", std::string(find_operation("getBlob")->example)), "a cache\nof lines\n");
}

TEST_F(OperationsTest, WhatHappensIsCounted) {
  Counters& counters = world_.service().counters();
  const auto count = [&](Metric metric, const std::string& label) { return counters.counted(metric)[label]; };
  const std::uint64_t appended = count(Metric::append_entries, "");
  const std::uint64_t observed = counters.observed(Metric::append_seconds).count;
  world_.answer(
      "appendEntries",
      R"({"session":"demo","entries":[{"id":"n1","type":"note","body":{}},{"type":"note","body":{"key":"AKIAIOSFODNN7EXAMPLE"}}]})");
  world_.answer("appendEntries", R"({"session":"demo","entries":[{"id":"n1","type":"note","body":{}}]})");
  EXPECT_EQ(count(Metric::append_entries, ""), appended + 2);
  EXPECT_EQ(counters.observed(Metric::append_seconds).count, observed + 2);
  EXPECT_EQ(counters.counted(Metric::masked).size(), 1u);
  EXPECT_EQ(world_.code("appendEntries", R"({"session":"demo","entries":[],"expect":"u1"})"), "CONFLICT");
  EXPECT_EQ(count(Metric::conflicts, ""), 1u);
  world_.answer("appendEntries", R"({"session":"demo","entries":[{"type":"session_info","body":{"barrier_feed":true}}]})");
  world_.answer("read", R"({"session":"demo","path":"notes.txt"})");
  world_.answer("read", R"({"session":"demo","path":"notes.txt"})");
  EXPECT_EQ(count(Metric::reads, "full"), 2u);  // long.txt was read before
  EXPECT_EQ(count(Metric::reads, "unchanged"), 1u);
  EXPECT_EQ(count(Metric::read_bytes, "file"), 17u + 14u + 14u);
  EXPECT_GT(count(Metric::read_bytes, "answered"), 30u);
  EXPECT_EQ(count(Metric::compactions, "passed"), 2u);
  world_.answer("compact", R"({"session":"demo"})");
  world_.answer("compact", R"({"session":"demo"})");
  EXPECT_EQ(count(Metric::compactions, "passed"), 3u);
  EXPECT_EQ(count(Metric::compactions, "already"), 1u);
  EXPECT_EQ(world_.code("compact", R"({"session":"spare"})"), "NOTHING_TO_COMPACT");
  EXPECT_EQ(count(Metric::compactions, "refused"), 1u);
  const std::string sync(find_operation("sync")->example);
  world_.answer("sync", sync);
  world_.answer("sync", sync);
  EXPECT_EQ(count(Metric::import_lines, "pi,new"), 1u);
  EXPECT_EQ(count(Metric::import_lines, "pi,known"), 1u);
}

TEST_F(OperationsTest, TheTableIsWellFormed) {
  std::set<std::string> ids, routes;
  for (const Operation& operation : operations()) {
    SCOPED_TRACE(std::string(operation.id));
    EXPECT_TRUE(ids.insert(std::string(operation.id)).second);
    EXPECT_TRUE(routes.insert(std::string(operation.method) + " " + std::string(operation.path)).second);
    EXPECT_TRUE(operation.summary.ends_with('.'));
    std::set<std::string> names;
    std::size_t in_path = 0;
    for (const Parameter& parameter : operation.parameters) {
      EXPECT_TRUE(names.insert(std::string(parameter.name)).second) << parameter.name;
      EXPECT_FALSE(parameter.help.empty()) << parameter.name;
      EXPECT_EQ(parameter.type == Type::choice, !parameter.choices.empty()) << parameter.name;
      const bool named = operation.path.find("{" + std::string(parameter.name) + "}") != std::string_view::npos;
      EXPECT_EQ(parameter.in == In::path, named) << parameter.name;
      EXPECT_TRUE(!named || parameter.required);
      in_path += named ? 1 : 0;
      const bool has_body = operation.method == "POST" || operation.method == "PUT";
      EXPECT_TRUE(has_body || parameter.in != In::body) << parameter.name;
    }
    EXPECT_EQ(static_cast<std::size_t>(std::count(operation.path.begin(), operation.path.end(), '{')), in_path);
    EXPECT_FALSE(operation.method == "GET" && operation.writes);
  }
}

}  // namespace
}  // namespace weir::api
