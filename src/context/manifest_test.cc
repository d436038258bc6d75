#include "context/manifest.h"

#include <gtest/gtest.h>

#include "json/canonical.h"
#include "json/parse.h"
#include "testing/context_case.h"
#include "testing/results.h"

namespace weir::context {
namespace {

using weir::testing::ContextCase;
using weir::testing::must;

TEST(ManifestTest, ChunksAreInOneLogEach) {
  ContextCase in = weir::testing::worked_context();
  const Prompt prompt =
      must(in.prompt("{}", R"({"candidate_chunk_ids":["a","b","c"],"selected_chunk_ids":["b"],"excluded_reasons":{"c":"stale"}})"));
  EXPECT_TRUE(prompt.manifest.exclusion.ends_with(R"(,{"excluded_reason":"not_selected","item_id":"a","item_type":"evidence"},)"
                                                  R"({"excluded_reason":"stale","item_id":"c","item_type":"evidence"}])"))
      << prompt.manifest.exclusion;
  EXPECT_NE(prompt.manifest.text.find(R"({"included_reason":"retrieval","item_id":"b","item_type":"evidence","source_ref":"chunk:b"}])"),
            std::string::npos);
}

TEST(ManifestTest, OlderCompactionsBreakTheStretchBeforeTheScope) {
  ContextCase in = weir::testing::worked_context();
  in.message(R"({"role":"assistant","content":"Done."})").add("compaction", R"({"summary":"again"})");
  const auto id = [&](ctree::Ordinal i) { return in.path.state.id(i); };
  const std::string before = in.path.fold.node_hash(in.path.state, 6).hex(), after = in.path.fold.node_hash(in.path.state, 9).hex();
  EXPECT_EQ(must(in.prompt()).manifest.exclusion,
            R"([{"count":5,"excluded_reason":"before_barrier","item_id":")" + id(1) + ".." + id(5) +
                R"(","item_type":"memory","node_hash":")" + before + R"("},{"excluded_reason":"superseded_checkpoint","item_id":")" +
                id(6) + R"(","item_type":"summary"},{"count":2,"excluded_reason":"before_barrier","item_id":")" + id(7) + ".." + id(8) +
                R"(","item_type":"memory","node_hash":")" + after + R"("}])");
}

TEST(ManifestTest, ALogOver64KiBIsABlobAndTheIdCoversItsName) {
  ContextCase in;
  for (int i = 0; i < 1000; ++i) in.message(R"({"role":"user","content":")" + std::to_string(i) + "\"}");
  const Prompt prompt = must(in.prompt());
  ASSERT_EQ(prompt.manifest.blobs.size(), 1u);
  json::Parser parser;
  const json::Value manifest = must(parser.parse(prompt.manifest.text));
  EXPECT_EQ(json::canonical(*manifest.find("inclusion")), R"({"$blob":"sha256:)" + sha256(prompt.manifest.blobs[0]).hex() +
                                                              R"(","bytes":)" + std::to_string(prompt.manifest.blobs[0].size()) +
                                                              R"(,"count":1000})");
  EXPECT_EQ(prompt.manifest.id, manifest_id(prompt.manifest.text));
}

TEST(ManifestTest, CaptureKeepsTheRenderedBytes) {
  ContextCase in = weir::testing::worked_context();
  Prompt prompt = must(in.prompt(R"({"capture":true})"));
  const std::string rendered = weir::testing::rendered_text(prompt);
  EXPECT_EQ(prompt.manifest.blobs, std::vector<std::string>{rendered});
  EXPECT_NE(prompt.manifest.text.find(R"("prompt_blob":{"$blob":"sha256:)" + sha256(rendered).hex() + R"(","bytes":)" +
                                      std::to_string(rendered.size()) + "}"),
            std::string::npos);
}

TEST(ManifestTest, NoTextOfTheContextIsInIt) {
  ContextCase in;
  in.message(R"({"role":"user","content":"canary one"})");
  in.message(R"({"role":"assistant","content":"x","tool_calls":[{"id":"canary","name":"canary","arguments":{"canary":1}}]})");
  in.message(R"({"role":"tool","tool_call_id":"canary","content":"canary two"})");
  EXPECT_EQ(must(in.prompt("{}", R"({"tools":[{"name":"canary"}]})")).manifest.text.find("canary"), std::string::npos);
}

TEST(ManifestTest, DroppedAndCollapsedNodesAreToldOneByOne) {
  ContextCase in(weir::testing::worked_example());
  EXPECT_EQ(must(in.prompt(R"({"compile":{"selection":{"max_nodes":4}}})")).manifest.exclusion,
            R"([{"excluded_reason":"limit:max_nodes","item_id":"n00000001_25cb6c83","item_type":"user_input"},)"
            R"({"excluded_reason":"limit:max_nodes","item_id":"n00000002_bc3e46f7","item_type":"memory"},)"
            R"({"excluded_reason":"limit:max_nodes","item_id":"n00000003_bff27aba","item_type":"tool_output"}])");
  EXPECT_EQ(must(in.prompt(R"({"compile":{"collapse":{"mode":"all_but_last"}}})")).manifest.exclusion,
            R"([{"excluded_reason":"collapse:all_but_last","item_id":"n00000001_25cb6c83","item_type":"user_input"},)"
            R"({"excluded_reason":"collapse:all_but_last","item_id":"n00000002_bc3e46f7","item_type":"memory"},)"
            R"({"excluded_reason":"collapse:all_but_last","item_id":"n00000003_bff27aba","item_type":"tool_output"}])");
}

}  // namespace
}  // namespace weir::context
