#include "api/call.h"

#include <gtest/gtest.h>

#include "testing/api_world.h"
#include "testing/results.h"

namespace weir::api {
namespace {

using testing::Answered;
using testing::ApiWorld;

struct Bad {
  std::string operation, arguments, pointers;
};

TEST(CallTest, AllThatIsWrongIsToldAtOnceWithItsPlace) {
  ApiWorld world;
  world.fill();
  const std::string kName = "\"session\":\"demo\"";
  const std::vector<Bad> kBad = {
      {"getSession", "{}", "/session"},
      {"getSession", R"({"session":"a b","more":1})", "/session /more"},
      {"getSession", R"({"session":7})", "/session"},
      {"listEntries",
       R"({"session":"../x","head":"","at":"a b","scope":"some","type":"message","since":"now","limit":501,"cursor":5,"x":1})",
       "/session /head /at /scope /type /since /limit /cursor /x"},
      {"listEntries", "{" + kName + R"(,"limit":0})", "/limit"},
      {"listEntries", "{" + kName + R"(,"limit":"5"})", "/limit"},
      {"appendEntries", "{" + kName + "}", "/entries"},
      {"appendEntries", "{" + kName + R"(,"entries":{},"lenient":"yes","head":5,"expect":5})", "/entries /head /expect /lenient"},
      {"appendEntries", "{" + kName + R"(,"entries":[{"type":"message"},{"body":{},"id":5},7]})",
       "/entries/0/body /entries/1/type /entries/1/id /entries/2"},
      {"putHead", "{" + kName + R"(,"head":"main"})", "/entry"},
      {"putHead", "{" + kName + R"(,"head":"main","entry":5,"before":1})", "/entry /before"},
      {"deleteSession", "{" + kName + "}", "/confirm"},
      {"deleteSession", "{" + kName + R"(,"confirm":"dem"})", "/confirm"},
      {"read", "{" + kName + R"(,"record":"maybe","request_id":"a b"})", "/path /request_id /record"},
      {"read", "{" + kName + R"(,"path":"notes.txt","cwd":"here"})", "/cwd"},
      {"refresh", "{" + kName + R"(,"path":"notes.txt","start":3,"end":2})", "/end"},
      {"refresh", "{" + kName + R"(,"path":"notes.txt","start":0})", "/start"},
      {"getCtreesTree", "{" + kName + R"(,"stage":"BAKED","show":"some","include_previews":2,"profile":"x"})",
       "/profile /stage /include_previews /show"},
      {"getStage", "{" + kName + R"(,"name":"raw"})", "/name"},
      {"diff", "{" + kName + R"(,"what":"all"})", "/a /b /what"},
      {"context", "{" + kName + R"(,"budget_bytes":0,"format":"xml","config":[],"request":1})", "/budget_bytes /format /config /request"},
      {"context", "{" + kName + R"(,"config":{"format":"xml","nothing":1}})", "/config/format /config/nothing"},
      {"compact", "{" + kName + R"(,"max_bytes":-1,"reason":"why not","tokens_before":"x"})", "/max_bytes /reason /tokens_before"},
      {"note", "{" + kName + R"(,"kind":"claim","span":{"start":-1}})", "/span/chunk /span/start /span/end"},
      {"note", "{" + kName + R"(,"kind":"idea","op":"think","refs":"x"})", "/kind /op /refs"},
      {"research", "{" + kName + R"(,"step":"pack","query":"x","gate":"B"})", "/gate /query"},
      {"research", "{" + kName + R"(,"step":"dream","wave":3,"runs_root":"/"})", "/step /wave /runs_root"},
      {"sync", "{" + kName + R"(,"entries":[]})", "/format"},
      {"history", "{" + kName + R"(,"q":"x","where":"here","limit":501})", "/where /limit"},
      {"export", "{" + kName + R"(,"scope":"all","at":"u1"})", "/scope"},
      {"getBlob", R"({"sha256":"sha256:12"})", "/sha256"},
      {"verify", R"({"sample":101,"quick":"x"})", "/quick /sample"},
      {"verify", R"({"sample":5,"quick":true})", "/sample"},
      {"stats", R"({"head":"main"})", "/session"},
      {"events", "{" + kName + "}", ""},
  };
  for (const Bad& bad : kBad) {
    SCOPED_TRACE(bad.operation + " " + bad.arguments);
    EXPECT_EQ(world.wrong(bad.operation, bad.arguments), bad.pointers);
    const std::string expected = bad.arguments.find("\"config\":{") != std::string::npos ? "CONFIG_INVALID" : "INVALID_FIELD";
    EXPECT_EQ(world.code(bad.operation, bad.arguments), expected);
  }
  for (const char* other : {"[]", "1", "null"}) EXPECT_EQ(world.code("getSession", other), "INVALID_FIELD");
}

TEST(CallTest, ErrorsAreThoseOfTheService) {
  ApiWorld world;
  world.fill();
  EXPECT_EQ(world.code("getSession", R"({"session":"nobody"})"), "NOT_FOUND");
  EXPECT_EQ(world.code("getEntry", R"({"session":"demo","entry":"none"})"), "NOT_FOUND");
  EXPECT_EQ(world.code("getEntry", R"({"session":"demo","entry":"u"})"), "NOT_FOUND");  // a prefix is for people
  EXPECT_EQ(world.code("listEntries", R"({"session":"demo","head":"none"})"), "NOT_FOUND");
  EXPECT_EQ(world.code("explain", R"({"session":"demo","nodes":["none"]})"), "NODE_UNKNOWN");
  EXPECT_EQ(world.code("import", R"({"session":"x","format":"doc","text":"{}"})"), "UNSUPPORTED_FORMAT");
  EXPECT_EQ(world.code("export", R"({"session":"demo","format":"doc"})"), "UNSUPPORTED_FORMAT");
  EXPECT_EQ(world.code("read", R"({"session":"demo","path":"notes.txt","offset":0})"), "BAD_RANGE");
  EXPECT_EQ(world.code("read", R"({"session":"demo","path":"notes.txt","limit":1.5})"), "BAD_RANGE");
  EXPECT_EQ(world.code("read", R"({"session":"demo","path":"none.txt"})"), "NOT_FOUND");
  EXPECT_EQ(world.code("read", R"({"session":"demo","path":"/etc/passwd"})"), "OUTSIDE_ROOTS");
  EXPECT_EQ(world.code("read", R"({"session":"demo","path":"passwd","cwd":"/etc"})"), "OUTSIDE_ROOTS");
  EXPECT_EQ(world.code("compact", R"({"session":"spare"})"), "NOTHING_TO_COMPACT");
  EXPECT_EQ(world.code("getSnapshot", R"({"session":"demo","n":"9"})"), "NOT_FOUND");
  EXPECT_EQ(world.code("research", R"({"session":"a..b","step":"status"})"), "PATH_TRAVERSAL");
  EXPECT_EQ(world.code("research", R"({"session":"demo","step":"gate","gate":"A"})"), "INVALID_ARGS");
  EXPECT_EQ(world.code("putHead", R"({"session":"demo","head":"main","entry":"u1","expect":"u2"})"), "CONFLICT");
  EXPECT_EQ(world.code("putHead", R"({"session":"demo","head":"new","entry":"u1","expect":"u2"})"), "NOT_FOUND");
  EXPECT_EQ(world.code("deleteHead", R"({"session":"demo","head":"main"})"), "INVALID_FIELD");
  EXPECT_EQ(world.code("appendEntries", R"({"session":"demo","entries":[],"expect":null})"), "CONFLICT");
  EXPECT_EQ(world.code("getBlob", R"({"sha256":")" + std::string(64, 'a') + "\"}"), "NOT_FOUND");
  EXPECT_EQ(world.code("deleteSession", R"({"session":"demo","confirm":"spare"})"), "INVALID_FIELD");
  EXPECT_EQ(world.code("getSession", R"({"session":"demo"})"), "OK");
}

TEST(CallTest, AThousandEntriesAreTheMost) {
  ApiWorld world;
  const auto entries = [](int count) {
    std::string out = R"({"session":"many","entries":[)";
    for (int i = 0; i < count; ++i) out += std::string(i == 0 ? "" : ",") + R"({"type":"note","body":{"n":)" + std::to_string(i) + "}}";
    return out + "]}";
  };
  EXPECT_EQ(world.code("appendEntries", entries(1001)), "LIMIT_EXCEEDED");
  EXPECT_EQ(world.code("getSession", R"({"session":"many"})"), "NOT_FOUND");
  EXPECT_EQ(world.code("appendEntries", entries(1000)), "OK");
}

TEST(CallTest, WhereOnlyReadingIsAllowedNothingWritesButDryRunsAreAnswered) {
  ApiWorld world;
  world.fill();
  const std::string before = world.answer("getSession", R"({"session":"demo"})");
  for (const bool by_token : {true, false}) {
    world.may_write = !by_token;
    world.world().read_only = !by_token;
    for (const Operation& operation : operations()) {
      SCOPED_TRACE(std::string(operation.id));
      if (operation.answers == Answers::events) continue;
      const bool dry = operation.example.find("\"dry_run\":true") != std::string_view::npos;
      EXPECT_EQ(world.code(operation.id, operation.example), operation.writes && !dry ? "DENIED" : "OK");
    }
    EXPECT_EQ(world.code("context", R"({"session":"demo","at":"u1"})"), "OK");
    EXPECT_EQ(world.code("context", R"({"session":"demo"})"), "DENIED");
    EXPECT_EQ(world.code("read", R"({"session":"demo","path":"notes.txt","record":"none"})"), "OK");
  }
  EXPECT_EQ(world.answer("getSession", R"({"session":"demo"})"), before);
}

TEST(CallTest, CancelledIsCancelledAndNothingIsStored) {
  ApiWorld world;
  world.fill();
  const std::string before = world.answer("getSession", R"({"session":"demo"})");
  world.cancelled = true;
  EXPECT_EQ(world.code("appendEntries", R"({"session":"demo","entries":[{"type":"note","body":{}}]})"), "CANCELLED");
  EXPECT_EQ(world.code("read", R"({"session":"demo","path":"notes.txt"})"), "CANCELLED");
  EXPECT_EQ(world.code("history", R"({"session":"demo","q":"cache"})"), "CANCELLED");
  EXPECT_EQ(world.code("verify", "{}"), "CANCELLED");
  EXPECT_EQ(world.code("export", R"({"session":"demo"})"), "CANCELLED");
  EXPECT_EQ(world.code("listEntries", R"({"session":"demo"})"), "CANCELLED");
  world.cancelled = false;
  EXPECT_EQ(world.answer("getSession", R"({"session":"demo"})"), before);
}

TEST(CallTest, StatusesSayWhatHappened) {
  ApiWorld world;
  world.fill();
  const auto status = [&](std::string_view operation, std::string_view arguments) { return world.ask(operation, arguments).reply.status; };
  EXPECT_EQ(status("createSession", R"({"id":"new"})"), 201);
  EXPECT_EQ(status("createSession", R"({"id":"new"})"), 200);
  constexpr std::string_view kEntry = R"({"session":"new","entries":[{"id":"x","type":"note","body":{"a":1}}]})";
  EXPECT_EQ(status("appendEntries", kEntry), 201);
  EXPECT_EQ(status("appendEntries", kEntry), 200);
  EXPECT_EQ(status("compact", R"({"session":"demo","dry_run":true})"), 200);
  EXPECT_EQ(status("compact", R"({"session":"demo"})"), 201);
  EXPECT_EQ(status("compact", R"({"session":"demo"})"), 200);  // it is there already
  EXPECT_EQ(status("note", R"({"session":"demo","kind":"claim","text":"So."})"), 201);
  EXPECT_EQ(status("deleteSession", R"({"session":"new","confirm":"new"})"), 204);
  EXPECT_EQ(world.code("getSession", R"({"session":"new"})"), "NOT_FOUND");
}

TEST(CallTest, TextsOfPathAndQueryBecomeWhatTheyAre) {
  ApiWorld world;
  testing::KeptLines watch;
  Call call(world.world(), *find_operation("listEntries"), watch);
  const auto read = [&](Type type, std::string_view text) { return json::canonical(call.from_text({.name = "x", .type = type}, text)); };
  EXPECT_EQ(read(Type::integer, "12"), "12");
  EXPECT_EQ(read(Type::integer, "-12"), "-12");
  EXPECT_EQ(read(Type::integer, "12x"), "\"12x\"");
  EXPECT_EQ(read(Type::flag, ""), "true");
  EXPECT_EQ(read(Type::flag, "0"), "false");
  EXPECT_EQ(read(Type::flag, "yes"), "\"yes\"");
  EXPECT_EQ(read(Type::texts, "a,b"), "[\"a\",\"b\"]");
  EXPECT_EQ(read(Type::entry, "12"), "\"12\"");
}

TEST(CallTest, AnswersThatAreNoJsonCanBeSentAsJson) {
  const Operation bytes{.answers = Answers::bytes}, nothing{.answers = Answers::nothing}, json{};
  EXPECT_EQ(reply_as_json(bytes, {.text = "a\n"}), R"({"text":"a\n"})");
  EXPECT_EQ(reply_as_json(bytes, {.text = "\xff"}), R"({"base64":"/w=="})");
  EXPECT_EQ(reply_as_json(nothing, {}), "{}");
  EXPECT_EQ(reply_as_json(json, {.text = "{\"a\":1}"}), "{\"a\":1}");
}

}  // namespace
}  // namespace weir::api
