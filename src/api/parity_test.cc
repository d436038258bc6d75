// The same JSON by the command line and by an operation.
#include <gtest/gtest.h>

#include "json/canonical.h"
#include "json/parse.h"
#include "testing/api_world.h"
#include "testing/results.h"

namespace weir::api {
namespace {

using json::Value;
using testing::ApiWorld;
using testing::must;

class ParityTest : public ::testing::Test {
 protected:
  ParityTest() { world_.fill(); }

  std::string command(std::vector<std::string> words) { return world_.command(std::move(words)); }
  // The lines of a stream between begin and end.
  std::vector<std::string> stream(std::vector<std::string> words) {
    std::vector<std::string> out;
    std::string text = command(std::move(words)) + "\n";
    for (std::size_t feed; (feed = text.find('\n')) != std::string::npos; text.erase(0, feed + 1)) out.push_back(text.substr(0, feed));
    EXPECT_GE(out.size(), 2u);
    return {out.begin() + 1, out.end() - 1};
  }
  std::string joined(const std::vector<std::string>& lines) {
    std::string out;
    for (const std::string& line : lines) out += (out.empty() ? "" : ",") + line;
    return "[" + out + "]";
  }
  // A member of an answer, as canonical text.
  std::string member(const std::string& text, std::string_view name) {
    json::Parser parser;
    return json::canonical(*must(parser.parse(text)).find(name));
  }

  ApiWorld world_;
};

TEST_F(ParityTest, WhatIsThereReadsTheSame) {
  struct Pair {
    std::vector<std::string> words;
    std::string operation, arguments;
  };
  const std::string notes = world_.files() + "/notes.txt";
  const std::vector<Pair> kPairs = {
      {{"session", "show", "demo"}, "getSession", ""},
      {{"show", "u1", "--session", "demo"}, "getEntry", R"("entry":"u1")"},
      {{"show", "t1", "--session", "demo", "--resolve"}, "getEntry", R"("entry":"t1","resolve":true)"},
      {{"reads", "--session", "demo"}, "getReads", ""},
      {{"reads", "--session", "demo", "--at", "u2"}, "getReads", R"("at":"u2")"},
      {{"reads", notes, "--session", "demo", "--root", world_.files()}, "getReads", R"("path":")" + notes + "\""},
      {{"reads", "digest", "--session", "demo", "--root", world_.files()}, "getReadDigest", ""},
      {{"compile", "--session", "demo", "--stage", "SPEC"}, "getStage", R"("name":"SPEC")"},
      {{"compile", "--session", "demo", "--stage", "RAW", "--full", "--head", "side"},
       "getStage",
       R"("name":"RAW","full":true,"head":"side")"},
      {{"compile", "--session", "demo", "--tree"}, "getCtreesTree", ""},
      {{"compile", "--session", "demo", "--tree", "--stage", "RAW", "--previews"},
       "getCtreesTree",
       R"("stage":"RAW","include_previews":true)"},
      {{"compile", "--session", "demo", "--stage", "SPEC", "--profile", "breadboard-0.1", "--previews"},
       "getStage",
       R"("name":"SPEC","profile":"breadboard-0.1","include_previews":true)"},
      {{"compile", "--session", "demo", "--tree", "--profile", "breadboard-0.1"}, "getCtreesTree", R"("profile":"breadboard-0.1")"},
      {{"explain", "--session", "demo"}, "explain", ""},
      {{"explain", "u3", "--session", "demo"}, "explain", R"("nodes":["u3"])"},
      {{"diff", "demo@u1", "demo@main"}, "diff", R"("a":"u1","b":"main")"},
      {{"diff", "demo@u1", "demo@u2", "--what", "entries"}, "diff", R"("a":"u1","b":"u2","what":"entries")"},
      {{"diff", "demo@side", "demo@u2", "--what", "context"}, "diff", R"("a":"side","b":"demo@u2","what":"context")"},
      {{"context", "--session", "demo", "--dry-run", "--format", "openai"}, "context", R"("dry_run":true,"format":"openai")"},
      {{"context", "--session", "demo", "--at", "u2", "--budget", "4000"}, "context", R"("at":"u2","budget_bytes":4000)"},
      {{"due", "--session", "demo"}, "due", ""},
      {{"due", "--session", "demo", "--event-threshold", "1"}, "due", R"("event_threshold":1)"},
      {{"compact", "--session", "demo", "--dry-run"}, "compact", R"("dry_run":true)"},
      {{"compact", "--session", "demo", "--dry-run", "--max-bytes", "1200", "--first-kept", "u3"},
       "compact",
       R"("dry_run":true,"max_bytes":1200,"first_kept":"u3")"},
      {{"snapshot", "show", "1", "--session", "demo"}, "getSnapshot", R"("n":"1")"},
      {{"snapshot", "show", "last", "--session", "demo"}, "getSnapshot", R"("n":"last")"},
      {{"stats", "--session", "demo"}, "stats", ""},
  };
  for (const Pair& pair : kPairs) {
    const std::string arguments = R"({"session":"demo")" + (pair.arguments.empty() ? "" : "," + pair.arguments) + "}";
    SCOPED_TRACE(pair.operation + " " + arguments);
    EXPECT_EQ(world_.answer(pair.operation, arguments), command(pair.words));
  }
}

TEST_F(ParityTest, ListsHoldWhatStreamsAndListsHold) {
  EXPECT_EQ(member(world_.answer("listSessions", "{}"), "items"), member(command({"session", "list"}), "sessions"));
  EXPECT_EQ(member(world_.answer("listHeads", R"({"session":"demo"})"), "items"),
            member(command({"head", "list", "--session", "demo"}), "heads"));
  EXPECT_EQ(member(world_.answer("listSnapshots", R"({"session":"demo"})"), "items"),
            member(command({"snapshot", "list", "--session", "demo"}), "snapshots"));
  EXPECT_EQ(member(world_.answer("listEntries", R"({"session":"demo"})"), "items"),
            joined(stream({"log", "--reverse", "--session", "demo"})));
  EXPECT_EQ(member(world_.answer("listEntries", R"({"session":"demo","scope":"all","type":["message"]})"), "items"),
            joined(stream({"log", "--reverse", "--session", "demo", "--type", "message"})));
  EXPECT_EQ(member(world_.answer("getTree", R"({"session":"demo"})"), "nodes"), joined(stream({"tree", "--session", "demo"})));
  std::vector<std::string> matches;
  for (const std::string& line : stream({"history", "cache", "--session", "demo", "--where", "before"}))
    matches.push_back(member(line, "match"));
  EXPECT_EQ(member(world_.answer("history", R"({"session":"demo","q":"cache","where":"before"})"), "matches"), joined(matches));
  EXPECT_EQ(world_.ask("export", R"({"session":"demo"})").lines, stream({"export", "--session", "demo", "--format", "jsonl"}));
  EXPECT_EQ(world_.ask("export", R"({"session":"demo","format":"pi","scope":"path"})").lines,
            stream({"export", "--session", "demo", "--format", "pi", "--path"}));
  const auto lines = world_.ask("verify", "{}").lines;
  EXPECT_EQ(joined(lines), joined([&] {
              std::vector<std::string> all;
              std::string text = command({"verify"}) + "\n";
              for (std::size_t feed; (feed = text.find('\n')) != std::string::npos; text.erase(0, feed + 1))
                all.push_back(text.substr(0, feed));
              return all;
            }()));
}

TEST_F(ParityTest, WhatADryRunSaysIsWhatIsThenDone) {
  const std::string notes = world_.files() + "/notes.txt", entries = world_.files() + "/entries.json", sync = world_.files() + "/sync.json";
  const std::string list = R"([{"type":"message","body":{"role":"user","content":"A"}},{"id":"x","type":"note","body":{}}])";
  const std::string request = R"({"format":"pi","session":"h","since":null,"entries":[{"type":"message","id":"m1","parentId":null,)"
                              R"("timestamp":"2026-02-13T09:30:00.000Z","message":{"role":"user","content":"Hello"}}],"leaf":"m1"})";
  testing::write_file(entries, list);
  testing::write_file(sync, request);
  struct Pair {
    std::vector<std::string> words;
    std::string operation, arguments;
  };
  const std::vector<Pair> kPairs = {
      {{"session", "new", "fresh", "--dry-run"}, "createSession", R"({"id":"fresh"})"},
      {{"head", "move", "side", "u2", "--session", "demo", "--dry-run"}, "putHead", R"({"session":"demo","head":"side","entry":"u2"})"},
      {{"head", "fork", "new", "--at", "u1", "--session", "demo", "--dry-run"},
       "putHead",
       R"({"session":"demo","head":"new","entry":"u1"})"},
      {{"head", "delete", "side", "--session", "demo", "--dry-run"}, "deleteHead", R"({"session":"demo","head":"side"})"},
      {{"note", "question", "Why?", "--session", "demo", "--dry-run"}, "note", R"({"session":"demo","kind":"question","text":"Why?"})"},
      {{"refresh", notes, "1-2", "--session", "demo", "--root", world_.files(), "--dry-run"},
       "refresh",
       R"({"session":"demo","start":1,"end":2,"path":")" + notes + "\"}"},
      {{"read", notes, "--no-record", "--root", world_.files()}, "read", R"({"session":"demo","record":"none","path":")" + notes + "\"}"},
      {{"append", entries, "--session", "demo", "--dry-run"}, "appendEntries", R"({"session":"demo","entries":)" + list + "}"},
      {{"research", "init", "--run", "quic", "--query", "Why?", "--runs-root", world_.files() + "/runs", "--dry-run"},
       "research",
       R"({"session":"quic","step":"init","query":"Why?","dry_run":true})"},
      {{"sync", "--file", sync, "--dry-run"}, "sync", request},
  };
  for (const Pair& pair : kPairs) {
    SCOPED_TRACE(pair.operation + " " + pair.arguments);
    const std::string said = command(pair.words);
    EXPECT_EQ(said, world_.answer(pair.operation, pair.arguments));
  }
}

TEST_F(ParityTest, ErrorsHaveTheSameCodes) {
  EXPECT_EQ(command({"session", "show", "none"}), world_.code("getSession", R"({"session":"none"})"));
  EXPECT_EQ(command({"show", "none", "--session", "demo"}), world_.code("getEntry", R"({"session":"demo","entry":"none"})"));
  EXPECT_EQ(command({"compact", "--session", "spare"}), world_.code("compact", R"({"session":"spare"})"));
  EXPECT_EQ(command({"context", "--session", "demo", "--budget", "1", "--dry-run"}),
            world_.code("context", R"({"session":"demo","budget_bytes":1,"dry_run":true})"));
  EXPECT_EQ(command({"head", "move", "main", "u1", "--expect", "u2", "--session", "demo"}),
            world_.code("putHead", R"({"session":"demo","head":"main","entry":"u1","expect":"u2"})"));
  EXPECT_EQ(command({"read", "/etc/passwd", "--session", "demo", "--root", world_.files()}),
            world_.code("read", R"({"session":"demo","path":"/etc/passwd"})"));
}

}  // namespace
}  // namespace weir::api
