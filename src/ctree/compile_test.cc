#include "ctree/compile.h"

#include <gtest/gtest.h>

#include <random>

#include "json/canonical.h"
#include "json/parse.h"
#include "testing/ctree_path.h"

namespace weir::ctree {
namespace {

using weir::testing::CtreePath;
using weir::testing::worked_example;

CompileConfig config_of(std::string_view text) {
  json::Parser parser;
  auto value = parser.parse(text);
  WEIR_CHECK(value.ok());
  auto config = CompileConfig::parse(*value);
  WEIR_CHECK(config.ok());
  return std::move(config).value();
}

Compiled compiled(const CtreePath& path, std::string_view config_text) {
  const CompileConfig config = config_of(config_text);
  auto out = compile(path.fold, path.state, {.config = config, .previews = [](Ordinal) { return std::nullopt; }});
  WEIR_CHECK(out.ok());
  return std::move(out).value();
}

TEST(CompileTest, TheDefaultsHaveTheHashOfTheContract) {
  EXPECT_EQ(compiled(CtreePath(), "{}").config_sha256.hex(), "8f99b7d581aa8f92b70f29d08a71d5789ad40a87429faaddfbf36080006a4f78");
}

TEST(CompileTest, TheStagesOfTheWorkedExampleHaveTheHashesOfTheContract) {
  const CtreePath s = worked_example();
  EXPECT_EQ(compiled(CtreePath(), "{}").z[0].hex(), "3fc5b847b91483187fb79c2f381a2e6a94dfb4e310d2b42a230a974a602b93fd");
  const Compiled plain = compiled(s, "{}");
  EXPECT_EQ(plain.z[0].hex(), "f152d48a01a2de97bb5cc7d9b30142598e2993571248a4c19ac53ea0ba72f3df");
  EXPECT_EQ(plain.z[1].hex(), "5eeb0699594ddeadae51c2e157f5a2f9765f5626976e6f6a62923b3ebc21a42b");
  EXPECT_EQ(plain.z[2].hex(), "3e1d68d2df9e75eaaf60ca89af693fe527546e89485b2e0ed3db67b1a96e988b");
  EXPECT_EQ(plain.z[3].hex(), "c310609571798dc7be3862d38cb5f26486cb85f2a3a4e2f1fc89a5d50803d5fb");
  const Compiled four = compiled(s, R"({"selection":{"max_nodes":4}})");
  EXPECT_EQ(four.z[1].hex(), "cdd54c34d1e2cdc85aff1f24caa621ea4568231b87db7425880b52c4ab7ee684") << four.stages[1];
  EXPECT_EQ(four.z[2].hex(), "f1af5525852fb9f893caffb8f18e1d97799a81c599db1c6ecaf0c5cc6a66a875");
  EXPECT_EQ(four.z[3].hex(), "fefc77bd358abb6b5d4f29358351cb04ba782ce25d93380a067d83f7fd761d6b");
  const Compiled collapsed = compiled(s, R"({"collapse":{"mode":"all_but_last"}})");
  EXPECT_EQ(collapsed.z[1].hex(), "f42d14670923e3ee50be117bdd0ef68e284e42361a65c42797b7cd20340f0f25");
  EXPECT_EQ(collapsed.z[2].hex(), "71fd96b220871807c2d3768fde25ac8e73b923122ac8218b6c9c7c699561592c") << collapsed.stages[2];
  EXPECT_EQ(collapsed.z[3].hex(), "5bd600dce61cfbf017b8accb6a8ffef4b3af1653757e9d852cefb7f8050e785b");
}

// What one compilation hashed is taken up by the next; the answer must be the one of a compilation that knows nothing.
TEST(CompileTest, CompilingAgainAfterMoreNodesEqualsCompilingAfresh) {
  const char* configs[] = {
      R"({"limits":{"max_stage_bytes":256}})",
      R"({"limits":{"max_stage_bytes":256},"selection":{"max_nodes":100}})",
      R"({"limits":{"max_stage_bytes":4096},"selection":{"max_bytes":30000,"fill":"stop"}})",
      R"({"limits":{"max_stage_bytes":256},"collapse":{"mode":"all_but_last"},"scope":"path"})",
      R"({"limits":{"max_stage_bytes":256},"selection":{"kind_allowlist":["*"],"max_turns":40}})",
  };
  std::mt19937 chance(7);
  for (const char* text : configs) {
    const CompileConfig config = config_of(text);
    CompileMemo memo;
    const auto check = [&](const CtreePath& path) {
      const auto again =
          compile(path.fold, path.state, {.config = config, .previews = [](Ordinal) { return std::nullopt; }, .memo = &memo});
      const auto afresh = compile(path.fold, path.state, {.config = config, .previews = [](Ordinal) { return std::nullopt; }});
      json::Arena arena;
      ASSERT_EQ(json::canonical(again->to_json(arena)), json::canonical(afresh->to_json(arena))) << text << " at " << path.state.size();
    };
    CtreePath path;
    std::optional<CtreePath> fork;
    for (int i = 0; i < 1400; ++i) {
      const std::string n = std::to_string(i);
      switch (chance() % 40) {
        case 0:
          path.add("context_edit", R"({"target":"x)" + std::to_string(1 + chance() % (i + 1)) + R"(","replacement":null})");
          break;
        case 1:
          path.add("label", R"({"target":"x)" + std::to_string(1 + chance() % (i + 1)) + R"(","label":"pin"})");
          break;
        case 2:
          path.message(R"({"role":"assistant","tool_calls":[{"id":"c)" + n + R"(","name":"f","arguments":{}}]})");
          path.message(R"({"role":"tool","tool_call_id":"c)" + n + R"(","content":"done"})");
          break;
        case 3:
          if (i % 7 == 0) path.add("compaction", R"({"summary":"so far","first_kept":"x)" + std::to_string(1 + chance() % (i + 1)) + "\"}");
          break;
        default:
          path.message(R"({"role":")" + std::string(i % 3 == 0 ? "user" : "assistant") + R"(","content":"text )" + n + "\"}");
      }
      if (i == 900) fork = path;
      if (i % 61 == 0) check(path);
    }
    for (int i = 0; i < 5; ++i) {  // another branch, with what the first one left behind
      fork->message(R"({"role":"user","content":"elsewhere"})");
      check(*fork);
      check(path);
    }
  }
}

}  // namespace
}  // namespace weir::ctree
