#include "context/prompt.h"

#include <gtest/gtest.h>

#include "json/canonical.h"
#include "json/parse.h"
#include "testing/context_case.h"
#include "testing/results.h"

namespace weir::context {
namespace {

using weir::testing::ContextCase;
using weir::testing::must;
using weir::testing::rendered_text;
using weir::testing::worked_context;

TEST(PromptTest, ThePrefixOfTheWorkedExampleHasTheHashesOfTheContract) {
  ContextCase path = worked_context();
  const Prompt prompt = must(path.prompt());
  EXPECT_EQ(prompt.hashes.prefix_length, 201u);
  EXPECT_EQ(prompt.hashes.prefix.hex(), "7a0c2bb7ac0e95244e709365274f84e65c8b3e74731d71b011cf726e03abd6a5");
  EXPECT_EQ(prompt.hashes.context.hex(), "8ab61971c8bcde840243755490c759a859276e17cb487c50d881372a04b45bf7");
  EXPECT_EQ(prompt.compiled.z[3].hex(), "aaf28bd253c741e478854766f6120cc17267eaa37b7c4aae8f29c3482e012779");
}

TEST(PromptTest, TheWorkedExampleIsRenderedAsTheContractSays) {
  ContextCase path = worked_context();
  Prompt prompt = must(path.prompt());
  EXPECT_EQ(rendered_text(prompt),
            R"({"messages":[{"content":[{"text":"[weir: carried over a compaction; source: host summary]\nAsked for a listing. )"
            R"(a.txt and b.txt exist.","type":"text"},{"text":"Delete b.txt","type":"text"}],"role":"user"}],)"
            R"("system":[{"text":"You are terse.","type":"text"}]})");
}

TEST(PromptTest, TheManifestOfTheWorkedExampleIsTheContractsByteForByte) {
  ContextCase path = worked_context();
  const Prompt prompt = must(path.prompt());
  EXPECT_EQ(
      prompt.manifest.text,
      R"({"candidate_chunk_ids":[],"compiler_version":"weir-1","config_sha256":"8f99b7d581aa8f92b70f29d08a71d5789ad40a87429faaddfbf36080006a4f78",)"
      R"("context_sha256":"8ab61971c8bcde840243755490c759a859276e17cb487c50d881372a04b45bf7","exclusion":[{"count":5,"excluded_reason":)"
      R"("before_barrier","item_id":"n00000001_25cb6c83..n00000005_f71f36e5","item_type":"memory","node_hash":)"
      R"("f67f151ef8479240b7c5068acf216ec4e32a6aef6bffa0e39f05d669c7699cb5"}],"filters":[],"format":"anthropic","hashes":{"node_hash":)"
      R"("a7532171d73ff9d88dad6f82ce2a2d5870a979155086095377a1f13ae6e48f03","selection_sha256":)"
      R"("b837b1893b7ad982584c00e6bfbe4e3da17698b2a15d80c4569464f300c7b46e","z1":"53dcfd3a6aa0e76a15c262e882cd4f8b76c821e7de4b72aa7cabffe93272d998",)"
      R"("z2":"6ee40cb3b8baecca6bdbe57f63a6e89de194212be162c495b8d6a5b16117f6f8","z3":"54631f5ead03b27b70eeb6d753771809227133a2da71386e2ad5736cd2e5c4fc",)"
      R"("z4":"aaf28bd253c741e478854766f6120cc17267eaa37b7c4aae8f29c3482e012779"},"inclusion":[{"included_reason":"pin:first_system","item_id":)"
      R"("n00000000_b114efbb","item_type":"policy","source_ref":"node:n00000000_b114efbb"},{"included_reason":"pin:checkpoint","item_id":)"
      R"("n00000006_7605654d","item_type":"summary","source_ref":"node:n00000006_7605654d"},{"included_reason":"pin:latest_user","item_id":)"
      R"("n00000007_bfa8a2af","item_type":"user_input","source_ref":"node:n00000007_bfa8a2af"}],"intent":{},"prefix_hash":)"
      R"("7a0c2bb7ac0e95244e709365274f84e65c8b3e74731d71b011cf726e03abd6a5","prefix_length":201,"reranker_model":null,"reranker_version":null,)"
      R"("retrieval_query":null,"selected_chunk_ids":[],"selected_source_ids":[],"snapshot_id":null,"step_id":0,"thresholds":{"event_threshold":18,)"
      R"("n_step_fallback":8,"plain_bytes_threshold":0},"token_budget":{"estimator":"bytes4.v1","max_bytes":null,"max_tokens":null,"used_bytes":153,"used_tokens":51}})");
  EXPECT_EQ(prompt.manifest.id, "man1_86c52b9499d8deb3862702aef6239df6");
  json::Arena arena;
  EXPECT_EQ(json::canonical(prompt.manifest.body(arena)),
            R"({"manifest":)" + prompt.manifest.text + R"(,"manifest_id":"man1_86c52b9499d8deb3862702aef6239df6","step_id":0})");
  EXPECT_TRUE(prompt.manifest.blobs.empty());
}

TEST(PromptTest, TheAnswerSaysWhatIsInItWhereAndWhy) {
  ContextCase path = worked_context();
  const std::string answer = path.answer();
  json::Parser parser;
  const json::Value value = must(parser.parse(answer));
  EXPECT_EQ(json::canonical(*value.find("items")),
            R"([{"bytes":44,"item_id":"n00000000_b114efbb","reason":"pin:first_system","role":"system","section":"policy","tokens":15},)"
            R"({"bytes":69,"item_id":"n00000006_7605654d","reason":"pin:checkpoint","role":"user","section":"snapshot","tokens":22},)"
            R"({"bytes":40,"item_id":"n00000007_bfa8a2af","reason":"pin:latest_user","role":"user","section":"tail","tokens":14}])");
  EXPECT_EQ(value.text_or("prefix_changed", ""), "first");
  EXPECT_EQ(json::canonical(*value.find("breakpoints")), "[1,1]");
  EXPECT_EQ(json::canonical(*value.find("used")), R"({"bytes":153,"tokens":51})");
  EXPECT_EQ(value.find("reused_messages")->integer(), 0);
  EXPECT_EQ(value.text_or("entry", ""), "x8");
  EXPECT_EQ(json::canonical(*value.find("warnings")), "[]");
  std::string keys;
  for (const json::Member& member : value.members()) keys += std::string(member.key) + " ";
  EXPECT_EQ(keys,
            "breakpoints context_sha256 entry exclusion format items manifest_id messages prefix_changed prefix_hash prefix_length profile "
            "reused_messages session system used warnings ");
}

}  // namespace
}  // namespace weir::context
