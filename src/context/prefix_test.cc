#include "context/prefix.h"

#include <gtest/gtest.h>

#include <set>

#include "json/parse.h"
#include "testing/context_case.h"
#include "testing/results.h"

namespace weir::context {
namespace {

using weir::testing::ContextCase;
using weir::testing::must;

std::string_view change(const Prompt& before, const Prompt& now) {
  return prefix_changed(&before.context.messages, before.hashes.prefix.hex(), now.context.messages, now.hashes.prefix);
}

TEST(PrefixTest, FiftyStepsWithoutACompactionHaveOnePrefix) {
  ContextCase in = weir::testing::worked_context();
  std::set<std::string> hashes, contexts;
  for (int i = 0; i < 50; ++i) {
    const std::string id = "t" + std::to_string(i);
    in.message(R"({"role":"assistant","tool_calls":[{"id":")" + id + R"(","name":"f","arguments":{}}]})");
    in.message(R"({"role":"tool","tool_call_id":")" + id + R"(","content":"r"})").message(R"({"role":"user","content":"next"})");
    const Prompt prompt = must(in.prompt(R"({"max_bytes":600})"));
    hashes.insert(prompt.hashes.prefix.hex());
    contexts.insert(prompt.hashes.context.hex());
  }
  EXPECT_EQ(hashes.size(), 1u);
  EXPECT_GT(contexts.size(), 1u);
}

TEST(PrefixTest, WhatChangedIsNamed) {
  ContextCase in = weir::testing::worked_context();
  const std::string tools = R"({"tools":[{"name":"a"},{"name":"b"}]})", turned = R"({"tools":[{"name":"b"},{"name":"a"}]})";
  const Prompt first = must(in.prompt("{}", tools));
  EXPECT_EQ(prefix_changed(nullptr, "", first.context.messages, first.hashes.prefix), "first");
  EXPECT_EQ(change(first, must(in.prompt("{}", turned))), "tools");
  in.message(R"({"role":"assistant","content":"Done."})");
  const Prompt second = must(in.prompt("{}", tools));
  EXPECT_EQ(change(first, second), "");
  in.add("label", R"({"target":"x2","label":"pin"})");
  const Prompt pinned = must(in.prompt("{}", tools));
  EXPECT_EQ(change(second, pinned), "pins");
  in.add("compaction", R"({"summary":"again"})");
  EXPECT_EQ(change(pinned, must(in.prompt("{}", tools))), "compaction");
}

TEST(PrefixTest, TheAnswerCountsTheMessagesThatAreStillTheSame) {
  ContextCase in = weir::testing::worked_context();
  in.message(R"({"role":"assistant","content":"Done."})");
  const Prompt before = must(in.prompt());
  in.message(R"({"role":"user","content":"Thanks."})");
  json::Parser parser;
  const std::string text = in.answer("{}", &before);
  const json::Value answer = must(parser.parse(text));
  EXPECT_EQ(answer.find("reused_messages")->integer(), 2);
  EXPECT_TRUE(answer.find("prefix_changed")->is_null());
}

TEST(PrefixTest, NoHashDependsOnTheProvidersIds) {
  const auto with = [](const std::string& id) {
    ContextCase in;
    in.message(R"({"role":"assistant","tool_calls":[{"id":")" + id + R"(","name":"f","arguments":{}}]})");
    in.message(R"({"role":"tool","tool_call_id":")" + id + R"(","content":"r"})");
    return in;
  };
  ContextCase a = with("one"), b = with("two");
  EXPECT_EQ(must(a.prompt()).hashes.context, must(b.prompt()).hashes.context);
  EXPECT_EQ(must(a.prompt()).manifest.id, must(b.prompt()).manifest.id);
  EXPECT_NE(must(a.prompt(R"({"ids":"original"})")).hashes.context, must(b.prompt(R"({"ids":"original"})")).hashes.context);
}

}  // namespace
}  // namespace weir::context
