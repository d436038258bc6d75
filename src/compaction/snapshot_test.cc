#include "compaction/snapshot.h"

#include <gtest/gtest.h>

#include "json/canonical.h"
#include "json/digest.h"
#include "testing/run_path.h"

namespace weir::compaction {
namespace {

using testing::RunPath;

TEST(SnapshotTest, DerivesTheIdsOfTheContract) {
  const auto id = [](bool index, std::string chunk, Span span) {
    Evidence evidence;
    (index ? evidence.index_id : evidence.corpus_id) = "i";
    evidence.chunk_id = std::move(chunk);
    evidence.span = std::move(span);
    return derive_evidence_id(evidence);
  };
  EXPECT_EQ(id(true, "c", {"utf8", 0, 1}), "ev1_b46110c6c3f88623a53a223716c65e9d");
  EXPECT_EQ(id(true, "c", {"utf8", 0, 2}), "ev1_ac5ad3aa1a3e1f0e2ac2a349f41c8d33");
  EXPECT_EQ(id(false, "c", {"utf8", 0, 1}), "ev1_a4a0273d5cb12d9e5926e233270b7e7e");
  EXPECT_EQ(id(true, "é", {"page", 3, 4}), "ev1_689e0bc988bb04a66ca89605c1acf3b9");
  EXPECT_EQ(derive_failure_id("retrieval", "OBSERVE/rerank", std::nullopt, std::nullopt), "fail1_af03964279c47b975cdaa348440da176");
  EXPECT_EQ(ledger_digest({}).hex(), "7df61d697bcda2b0155150ddd4baff7adf98af5469c1def5250a7c9acd29f82e");
}

TEST(SnapshotTest, TheSmallestSnapshotHasTheIdOfTheContract) {
  RunPath path;
  path.message(R"({"role":"user","content":"hi"})");
  json::Arena arena;
  const json::Value hashed = path.build(arena, Trigger::manual);
  EXPECT_EQ(json::canonical(hashed).size() + json::name(json::Domain::snapshot_id).size() + 1, 1673u);
  EXPECT_EQ(snapshot_id(hashed), "snap1_8d432ca1272f54696a3aac4f06e5ebca");
}

TEST(SnapshotTest, TheFullExampleHasTheIdOfTheContract) {
  const RunPath path = testing::gauge_example();
  json::Arena arena;
  ASSERT_EQ(due(path.state), Trigger::event_threshold);
  const json::Value hashed = path.build(arena, Trigger::event_threshold);
  EXPECT_EQ(json::canonical(hashed).size() + json::name(json::Domain::snapshot_id).size() + 1, 3814u);
  EXPECT_EQ(snapshot_id(hashed), "snap1_42ac2334deb41027728c576a4bfdfd20") << json::pretty(hashed);
}

TEST(SnapshotTest, AStateIsTheSameAfterSavingAndLoading) {
  const RunPath path = testing::gauge_example();
  const std::string saved = RunFold::save(path.state);
  const auto loaded = RunFold::load(saved);
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(RunFold::save(*loaded), saved);
  for (std::size_t cut = 0; cut < saved.size(); ++cut) EXPECT_FALSE(RunFold::load(std::string_view(saved).substr(0, cut)).ok());
}

}  // namespace
}  // namespace weir::compaction
