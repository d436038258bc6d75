#include "session/bodies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/canonical.h"
#include "json/parse.h"
#include "session/types.h"
#include "testing/results.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::must;

// What check_body says of a body, as "path: message" lines.
std::vector<std::string> wrong(std::string_view type, const std::string& text, const std::string& path = "") {
  json::Parser parser;
  const json::Value body = must(parser.parse(text));
  json::FieldErrors errors;
  check_body(type, body, path, errors);
  std::vector<std::string> out;
  const auto result = errors.result();
  if (result.ok()) return out;
  for (const FieldError& field : result.error().fields()) out.push_back(field.path + ": " + field.message);
  return out;
}

struct Good {
  std::string_view type;
  std::string body;
};

TEST(BodiesTest, GoodBodiesPass) {
  const std::string blob = R"({"$blob":"sha256:00","bytes":1})";
  for (
      const Good& good : std::vector<Good>{
          {"message", R"({"role":"user"})"},
          {"message",
           R"({"content":null,"is_error":null,"name":null,"read":null,"role":"system","tool_call_id":null,"tool_calls":null,"turn":null})"},
          {"message", R"({"content":"text","role":"assistant","tool_calls":[{"id":"1"}],"turn":-3})"},
          {"message",
           R"({"content":[{"type":"text"}],"is_error":true,"name":"bash","read":{},"role":"tool","text_masked":true,"tool_call_id":"1"})"},
          {"message", R"({"content":)" + blob + R"(,"extra":[1],"role":"user","whatever":1})"},
          {"message", R"({"role":"user","turn":5.0})"},
          {"compaction", "{}"},
          {"compaction",
           R"({"first_kept":"a","kept":["a","b"],"narrative":"n","opaque":true,"reason":"r","replacement":[{"role":"user"}],"snapshot":{},"summary":"s","tokens_before":0})"},
          {"compaction", R"({"narrative":)" + blob + R"(,"replacement":)" + blob + R"(,"summary":)" + blob + "}"},
          {"label", R"({"target":"a"})"},
          {"label", R"({"label":"pin","target":"a"})"},
          {"context_edit", R"({"replacement":null,"target":"a"})"},
          {"context_edit", R"({"replacement":[{"type":"text"}],"target":"a"})"},
          {"branch_summary", R"({"from":"a","summary":"s"})"},
          {"branch_summary", R"({"summary":)" + blob + "}"},
          {"session_info", "{}"},
          {"session_info", R"({"cwd":"/","name":"n","tools":{"bash":"exec"}})"},
          {"custom", R"({"anything":[1,2]})"},
          {"never.heard:of-it", "{}"}}) {
    EXPECT_THAT(wrong(good.type, good.body), IsEmpty()) << good.body;
  }
}

struct Bad {
  std::string_view type;
  std::string body;
  std::vector<std::string> errors;
};

TEST(BodiesTest, BadBodiesAreRefusedWithEveryWrongField) {
  for (const Bad& bad : std::vector<Bad>{
           {"message", "{}", {"/role: is missing"}},
           {"message", R"({"role":null})", {"/role: is missing"}},
           {"message", R"({"role":"robot"})", {"/role: must be user, assistant, tool or system, is 'robot'"}},
           {"message", R"({"role":""})", {"/role: must be user, assistant, tool or system, is ''"}},
           {"message", R"({"role":7})", {"/role: must be a string, is an integer"}},
           {"message", "[]", {": must be an object, is an array"}},
           {"message", R"({"content":7,"role":"user"})", {"/content: must be a string or an array of blocks, is an integer"}},
           {"message", R"({"content":{"text":"t"},"role":"user"})", {"/content: must be a string or an array of blocks, is an object"}},
           {"message",
            R"({"content":[{},"t",null],"role":"user"})",
            {"/content/1: must be an object, is a string", "/content/2: must be an object, is null"}},
           {"message", R"({"role":"user","tool_calls":{}})", {"/tool_calls: must be an array, is an object"}},
           {"message", R"({"role":"user","tool_calls":[1,{}]})", {"/tool_calls/0: must be an object, is an integer"}},
           {"message", R"({"role":"user","turn":1.5})", {"/turn: must be an integer, is a number"}},
           {"message",
            R"({"role":"user","turn":9007199254740992})",
            {"/turn: must be from -9007199254740991 to 9007199254740991, is 9007199254740992"}},
           {"message",
            R"({"is_error":"yes","name":1,"read":[],"role":"bot","text_masked":0,"tool_call_id":{},"turn":"x"})",
            {"/role: must be user, assistant, tool or system, is 'bot'", "/tool_call_id: must be a string, is an object",
             "/name: must be a string, is an integer", "/is_error: must be true or false, is a string",
             "/turn: must be an integer, is a string", "/read: must be an object, is an array",
             "/text_masked: must be true or false, is an integer"}},
           {"compaction", "7", {": must be an object, is an integer"}},
           {"compaction", R"({"summary":7})", {"/summary: must be a string, is an integer"}},
           {"compaction", R"({"replacement":"text"})", {"/replacement: must be an array of messages"}},
           {"compaction",
            R"({"replacement":[{"role":"user"},{"role":"x"},{"content":[1],"role":"user"}]})",
            {"/replacement/1/role: must be user, assistant, tool or system, is 'x'",
             "/replacement/2/content/0: must be an object, is an integer"}},
           {"compaction",
            R"({"kept":["a",1,null]})",
            {"/kept/1: must be an entry id, is an integer", "/kept/2: must be an entry id, is null"}},
           {"compaction",
            R"({"first_kept":1,"kept":"a","narrative":[],"opaque":1,"reason":2,"snapshot":"s","tokens_before":-1})",
            {"/narrative: must be a string, is an array", "/first_kept: must be a string, is an integer",
             "/reason: must be a string, is an integer", "/snapshot: must be an object, is a string",
             "/kept: must be an array, is a string", "/opaque: must be true or false, is an integer",
             "/tokens_before: must be from 0 to 9007199254740991, is -1"}},
           {"label", "{}", {"/target: is missing"}},
           {"label", R"({"label":1,"target":2})", {"/target: must be a string, is an integer", "/label: must be a string, is an integer"}},
           {"context_edit",
            R"({"replacement":true})",
            {"/target: is missing", "/replacement: must be a string or an array of blocks, is a boolean"}},
           {"context_edit", R"({"replacement":[7],"target":"a"})", {"/replacement/0: must be an object, is an integer"}},
           {"branch_summary", "{}", {"/summary: is missing"}},
           {"branch_summary",
            R"({"from":1,"summary":[]})",
            {"/summary: must be a string, is an array", "/from: must be a string, is an integer"}},
           {"session_info",
            R"({"cwd":1,"name":2,"tools":[]})",
            {"/name: must be a string, is an integer", "/cwd: must be a string, is an integer", "/tools: must be an object, is an array"}},
           {"custom", "[]", {": must be an object, is an array"}},
           {"never.heard:of-it", "null", {": must be an object, is null"}}}) {
    EXPECT_THAT(wrong(bad.type, bad.body), ::testing::UnorderedElementsAreArray(bad.errors)) << bad.body;
  }
}

TEST(BodiesTest, PathsBeginWhereTheBodyIs) {
  EXPECT_THAT(wrong("message", R"({"content":[1],"role":"x"})", "/entries/2/body"),
              ElementsAre("/entries/2/body/role: must be user, assistant, tool or system, is 'x'",
                          "/entries/2/body/content/0: must be an object, is an integer"));
}

class DecodeTest : public ::testing::Test {
 protected:
  json::Value value(const std::string& text) { return must(parser_.parse(text)); }
  json::Parser parser_;
  json::FieldErrors errors_;
};

TEST_F(DecodeTest, MessageShowsItsFields) {
  const MessageBody message = decode_message(
      value(
          R"({"content":"c","is_error":true,"name":"n","read":{"v":1},"role":"tool","text_masked":true,"tool_call_id":"t","tool_calls":[{}],"turn":7})"),
      "", errors_);
  EXPECT_TRUE(errors_.empty());
  EXPECT_EQ(message.role, Role::tool);
  EXPECT_EQ(message.content->text(), "c");
  EXPECT_EQ(message.tool_calls->items().size(), 1u);
  EXPECT_EQ(message.tool_call_id, std::optional<std::string_view>("t"));
  EXPECT_EQ(message.name, std::optional<std::string_view>("n"));
  EXPECT_TRUE(message.is_error);
  EXPECT_EQ(message.turn, std::optional<std::int64_t>(7));
  EXPECT_NE(message.read, nullptr);
  EXPECT_TRUE(message.text_masked);
}

TEST_F(DecodeTest, RolesHaveTheirNames) {
  for (const char* name : {"user", "assistant", "tool", "system"}) EXPECT_EQ(role_name(*parse_role(name)), name);
  for (const char* name : {"", "User", "use", "users"}) EXPECT_EQ(parse_role(name), std::nullopt) << name;
}

TEST_F(DecodeTest, OnlyAPersonsMessageBeginsATurn) {
  const auto begins = [&](const std::string& text) { return decode_message(value(text), "", errors_).begins_turn(); };
  EXPECT_TRUE(begins(R"({"content":"hello","role":"user"})"));
  EXPECT_TRUE(begins(R"({"role":"user"})"));
  EXPECT_TRUE(begins(R"({"content":[],"role":"user"})"));
  EXPECT_TRUE(begins(R"({"content":[{"type":"tool_result"},{"type":"text"}],"role":"user"})"));
  EXPECT_FALSE(begins(R"({"content":[{"type":"tool_result"},{"type":"tool_result"}],"role":"user"})"));
  EXPECT_FALSE(begins(R"({"content":"hello","role":"assistant"})"));
  EXPECT_FALSE(begins(R"({"content":"hello","role":"tool"})"));
}

TEST_F(DecodeTest, CompactionTellsAnEmptyKeptListFromNone) {
  EXPECT_FALSE(decode_compaction(value("{}"), "", errors_).has_kept);
  EXPECT_TRUE(decode_compaction(value(R"({"kept":[]})"), "", errors_).has_kept);
  const CompactionBody body = decode_compaction(
      value(R"({"first_kept":"f","kept":["a","b"],"narrative":"n","opaque":true,"summary":"s","tokens_before":9})"), "", errors_);
  EXPECT_THAT(body.kept, ElementsAre("a", "b"));
  EXPECT_EQ(body.first_kept, std::optional<std::string_view>("f"));
  EXPECT_EQ(body.narrative, std::optional<std::string_view>("n"));
  EXPECT_EQ(body.summary, std::optional<std::string_view>("s"));
  EXPECT_TRUE(body.opaque);
  EXPECT_EQ(body.tokens_before, std::optional<std::int64_t>(9));
  EXPECT_EQ(body.replacement, nullptr);
  EXPECT_TRUE(errors_.empty());
}

TEST_F(DecodeTest, SmallBodiesShowTheirFields) {
  const LabelBody label = decode_label(value(R"({"label":"pin","target":"a"})"), "", errors_);
  EXPECT_EQ(label.target, "a");
  EXPECT_EQ(label.label, std::optional<std::string_view>("pin"));
  const ContextEditBody removed = decode_context_edit(value(R"({"replacement":null,"target":"a"})"), "", errors_);
  EXPECT_EQ(removed.target, "a");
  EXPECT_EQ(removed.replacement, nullptr);
  EXPECT_EQ(decode_context_edit(value(R"({"replacement":"r","target":"a"})"), "", errors_).replacement->text(), "r");
  const BranchSummaryBody summary = decode_branch_summary(value(R"({"from":"f","summary":"s"})"), "", errors_);
  EXPECT_EQ(summary.summary, "s");
  EXPECT_EQ(summary.from, std::optional<std::string_view>("f"));
  const SessionInfoBody info = decode_session_info(value(R"({"cwd":"/w","name":"n","tools":{"a":"b"}})"), "", errors_);
  EXPECT_EQ(info.cwd, std::optional<std::string_view>("/w"));
  EXPECT_EQ(info.name, std::optional<std::string_view>("n"));
  EXPECT_EQ(info.tools->text_or("a", ""), "b");
  EXPECT_TRUE(errors_.empty());
}

}  // namespace
}  // namespace weir
