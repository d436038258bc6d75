#include "ctree/nodes_fold.h"

#include <gtest/gtest.h>

#include "testing/ctree_path.h"

namespace weir::ctree {
namespace {

using weir::testing::CtreePath;
using weir::testing::worked_example;

TEST(NodesTest, TheWorkedExampleHasTheDigestsOfTheContract) {
  const CtreePath path = worked_example();
  const char* expected[] = {
      "b114efbb933275fde7eb285f32f3daa5e7ef7757648488db4f9ac4c40fced586",
      "25cb6c831710b83816c8ceaa057b222a25bc1e245d59a253513cb9142b81b748",
      "bc3e46f7c979abba9a3798b541be73a15a63ac86edb351ed888e1a5089e7f7e4",
      "bff27abab8ea2816ff5146a32afded2300a853c17b6d49f3218258e97ff84a6f",
      "efe7fd58181270d98c4bd4175e8653082de23ae029f777476459522d0a51b31f",
      "f71f36e5d568786dafcc67385d7195b6b79f1734b073609a2f0a10d0825432a6",
  };
  ASSERT_EQ(path.state.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(path.state.hashes[i].digest.hex(), expected[i]) << i;
  EXPECT_EQ(path.fold.node_hash(path.state, 0).hex(), "0344b45c05c786b1efe5bcbb0084e2a3ba38ef422aedd3eac1a85899939eff76");
  EXPECT_EQ(path.fold.node_hash(path.state, 1).hex(), "74bb487e72108a6e6d29e56ab351dc4b6cc00f27f19c2c54e57d5e1f07b9611a");
  EXPECT_EQ(path.fold.node_hash(path.state).hex(), "f67f151ef8479240b7c5068acf216ec4e32a6aef6bffa0e39f05d669c7699cb5");
  EXPECT_EQ(path.state.id(5), "n00000005_f71f36e5");
  EXPECT_EQ(path.state.unit_of(3), 2u);
}

TEST(NodesTest, AHostsCompactionIsACheckpointWithItsSummary) {
  CtreePath path = worked_example();
  path.add("compaction", R"({"summary":"Asked for a listing. a.txt and b.txt exist."})");
  path.message(R"({"role":"user","content":"Delete b.txt"})");
  EXPECT_EQ(path.state.id(6), "n00000006_7605654d");
  EXPECT_EQ(path.state.id(7), "n00000007_bfa8a2af");
  EXPECT_EQ(path.fold.node_hash(path.state).hex(), "a7532171d73ff9d88dad6f82ce2a2d5870a979155086095377a1f13ae6e48f03");
}

TEST(NodesTest, AChainValueInTheMiddleIsTheOneOfThatPrefix) {
  CtreePath path;
  std::vector<Digest> after{path.fold.node_hash(path.state)};
  for (int i = 0; i < 200; ++i) {
    path.message(R"({"role":"user","content":")" + std::to_string(i) + "\"}");
    after.push_back(path.fold.node_hash(path.state));
  }
  for (std::size_t i = 0; i <= 200; ++i) EXPECT_EQ(path.fold.node_hash(path.state, i), after[i]) << i;
}

TEST(NodesTest, ASavedStateGoesOnLikeTheOneItWasSavedFrom) {
  CtreePath path = worked_example();
  path.add("context_edit", R"({"target":"x4","replacement":"gone"})").add("label", R"({"target":"x2","label":"pin"})");
  path.add("compaction", R"({"summary":"s","kept":["x2","x4"]})");
  path.add("ctree_node", R"({"kind":"task_event","payload":{"task_id":"t"},"node_id":"mine"})");
  auto loaded = path.fold.load(path.fold.save(path.state));
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(path.fold.save(*loaded), path.fold.save(path.state));
  CtreePath other = path;
  other.state = *loaded;
  for (CtreePath* each : {&path, &other}) each->message(R"({"role":"tool","tool_call_id":"toolu_x","content":"late"})");
  EXPECT_EQ(path.fold.node_hash(path.state), other.fold.node_hash(other.state));
  EXPECT_EQ(other.state.unit_of(9), 2u);
  EXPECT_FALSE(NodesFold({.key_id = "k", .key = "secret"}).load(path.fold.save(path.state)).ok());
  EXPECT_FALSE(path.fold.load(path.fold.save(path.state).substr(0, 500)).ok());
}

}  // namespace
}  // namespace weir::ctree
