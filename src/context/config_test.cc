#include "context/config.h"

#include <gtest/gtest.h>

#include <random>

#include "json/canonical.h"
#include "json/parse.h"
#include "testing/results.h"

namespace weir::context {
namespace {

using weir::testing::code;
using weir::testing::must;

Result<ContextConfig> parsed(std::string_view text) {
  json::Parser parser;
  return ContextConfig::parse(must(parser.parse(text)));
}

TEST(ContextConfigTest, TheDefaultsAreTheContracts) {
  json::Arena arena;
  const std::string text = json::canonical(must(parsed("{}")).to_json(arena));
  EXPECT_TRUE(text.starts_with(R"({"cache_marks":false,"capture":false,"compile":{)"));
  EXPECT_TRUE(text.ends_with(
      R"(},"format":"anthropic","ids":"alias","mask":true,"max_bytes":null,"max_item_bytes":null,"max_tokens":null,"reserve_bytes":0})"));
}

TEST(ContextConfigTest, EveryFaultIsNamedWithItsPointer) {
  const auto wrong =
      parsed(R"({"compile":{"scope":"tree","selection":{"max_nodes":-1,"x":1}},"format":"xml","ids":7,"max_bytes":1.5,"max_tokens":"2",)"
             R"("max_item_bytes":255,"reserve_bytes":null,"mask":"yes","cache_marks":null,"capture":1,"more":true})");
  ASSERT_EQ(code(wrong), "CONFIG_INVALID");
  std::string paths;
  for (const FieldError& field : wrong.error().fields()) paths += field.path + " ";
  EXPECT_EQ(paths,
            "/compile/scope /compile/selection/max_nodes /compile/selection/x /format /ids /max_bytes /max_tokens /max_item_bytes "
            "/reserve_bytes /mask /cache_marks /capture /more ");
  for (const char* text : {"[]", "null", R"({"compile":null})", R"({"compile":[]})", R"({"format":null})", R"({"ids":"both"})"}) {
    EXPECT_EQ(code(parsed(text)), "CONFIG_INVALID") << text;
  }
}

TEST(ContextConfigTest, RandomBytesAreAnErrorOrAConfigurationAndNothingElse) {
  const std::string good = R"({"compile":{"scope":"path","selection":{"max_nodes":4}},"format":"plain","max_bytes":1000,"mask":true})";
  std::mt19937 random(7);
  json::Parser parser;
  for (int i = 0; i < 4000; ++i) {
    std::string text = good;
    for (std::uint32_t n = random() % 4; n-- > 0;) text[random() % text.size()] = static_cast<char>(random() % 128);
    const auto value = parser.parse(text);
    if (!value.ok()) continue;
    const auto config = ContextConfig::parse(*value);
    EXPECT_TRUE(config.ok() || config.error().code() == ErrorCode::CONFIG_INVALID) << text;
    EXPECT_TRUE(config.ok() || !config.error().fields().empty()) << text;
  }
}

TEST(ContextConfigTest, BudgetsThatAreGivenTakeThePlaceOfTheCompilers) {
  const ContextConfig given = must(parsed(
      R"({"compile":{"selection":{"max_bytes":9,"max_tokens":8,"max_item_bytes":700}},"max_bytes":1000,"reserve_bytes":300,"max_item_bytes":256})"));
  const auto selection = given.compile_config().selection;
  EXPECT_EQ(selection.max_bytes, 700u);
  EXPECT_EQ(selection.max_tokens, 8u);
  EXPECT_EQ(selection.max_item_bytes, 256u);
  EXPECT_EQ(must(parsed(R"({"max_bytes":10,"reserve_bytes":11})")).compile_config().selection.max_bytes, 0u);
  EXPECT_EQ(must(parsed(R"({"reserve_bytes":11})")).compile_config(), ctree::CompileConfig());
}

}  // namespace
}  // namespace weir::context
