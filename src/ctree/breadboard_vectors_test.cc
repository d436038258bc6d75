// Every field of every vector that BreadBoard itself computed, in tests/data/breadboard-0.1.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>

#include "ctree/breadboard.h"
#include "testing/results.h"
#include "testing/source_dir.h"

namespace weir::breadboard {
namespace {

using testing::must;

std::string folder() { return testing::source_dir() + "/tests/data/breadboard-0.1"; }

std::vector<std::string> cases() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    if (entry.path().extension() == ".json") out.push_back(entry.path().stem());
  }
  std::sort(out.begin(), out.end());
  return out;
}

class VectorTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    std::ifstream in(folder() + "/" + GetParam() + ".json");
    std::stringstream text;
    text << in.rdbuf();
    const Value vector = must(read_json(text.str()));
    expected_ = vector.get("expected");
    const Value input = vector.get("input"), texts = input.get("records_text");
    ASSERT_EQ(input.members().size(), 1u);
    for (const Value& record : texts.items()) records_.push_back(must(record_of(must(read_json(record.text())))));
    for (const Record& record : records_) store_.record(record);
  }

  void TearDown() override {
    for (const Member& member : expected_.members()) EXPECT_TRUE(known(member.key)) << "nothing tests " << member.key;
  }

  static bool known(const std::string& field) {
    static const std::set<std::string> all{
        "nodes",           "digest_preimage", "snapshot",     "hashes",       "persist", "replay_from_disk", "compile",
        "collapse_policy", "collapse_ctree",  "hash_summary", "context_note", "tree",    "context"};
    return all.contains(field);
  }

  void expect_equal(const Value& got, const Value& wanted, const std::string& what) { EXPECT_EQ(plain(got), plain(wanted)) << what; }

  // Calls `check` for each item of a list of the vector, which is not empty.
  void each(const char* field, const std::function<void(const Value&)>& check) {
    const Value list = expected_.get(field);
    EXPECT_FALSE(list.items().empty()) << field;
    for (const Value& item : list.items()) check(item);
  }

  Value expected_;
  std::vector<Record> records_;
  Store store_;
};

Value nodes_of(const Store& store) {
  std::vector<Value> out;
  for (const Node& node : store.nodes()) {
    out.push_back(Value::object({{"id", node.id}, {"digest", node.digest}, {"kind", node.kind}, {"turn", node.turn}}));
  }
  return Value::array(std::move(out));
}

TEST_P(VectorTest, NodesAndTheirPreimages) {
  expect_equal(nodes_of(store_), expected_.get("nodes"), "nodes");
  const Value preimages = expected_.get("digest_preimage");
  ASSERT_EQ(preimages.items().size(), records_.size());
  for (std::size_t i = 0; i < records_.size(); ++i) EXPECT_EQ(digest_preimage(records_[i]), preimages.items()[i].text());
}

TEST_P(VectorTest, SnapshotAndFiles) {
  expect_equal(snapshot(store_), expected_.get("snapshot"), "snapshot");
  expect_equal(Value::object({{"node_hash", store_.node_hash()}}), expected_.get("hashes"), "hashes");
  const Value persist = expected_.get("persist");
  EXPECT_EQ(events_jsonl(store_), persist.get("events_jsonl").text());
  EXPECT_EQ(snapshot_json(store_), persist.get("snapshot_json").text());
  EXPECT_EQ(persist.members().size(), 2u);
}

TEST_P(VectorTest, ReplayFromDisk) {
  const Value wanted = expected_.get("replay_from_disk");
  const RecordFile file = must(read_record_file(expected_.get("persist").get("events_jsonl").text()));
  ASSERT_EQ(file.findings.size(), 1u);
  EXPECT_EQ(file.findings[0].what, LineFinding::header);
  std::vector<Value> ids;
  for (const Node& node : file.store.nodes()) ids.emplace_back(node.id);
  expect_equal(Value::object({{"snapshot", snapshot(file.store)},
                              {"compile_hashes", must(compile(file.store)).get("hashes")},
                              {"node_ids", Value::array(ids)}}),
               wanted, "replay");
}

TEST_P(VectorTest, Compilations) {
  each("compile", [&](const Value& item) {
    const Value output = must(compile(store_, item.get("config"), item.get("prompt_summary")));
    EXPECT_EQ(output.get("profile").text(), "breadboard-0.1");
    expect_equal(without_member(output, "profile"), item.get("output"), plain(item.get("config")));
  });
}

TEST_P(VectorTest, CollapseAndSummary) {
  each("collapse_policy", [&](const Value& item) {
    expect_equal(must(collapse_policy(store_, must(collapse_args(item.get("args"))))), item.get("output"), plain(item.get("args")));
  });
  expect_equal(must(collapse_ctree(store_)), expected_.get("collapse_ctree"), "collapse_ctree");
  const Value summary = must(hash_summary(store_, {}));
  expect_equal(summary, expected_.get("hash_summary"), "hash_summary");
  EXPECT_EQ(note_line(summary), expected_.get("context_note").text());
}

TEST_P(VectorTest, Trees) {
  each("tree", [&](const Value& item) {
    expect_equal(must(tree_view(store_, must(tree_args(item.get("args"))))), item.get("output"), plain(item.get("args")));
  });
}

TEST_P(VectorTest, ContextsAndTheirText) {
  if (expected_.find("context") == nullptr) return;  // only one vector has them
  each("context", [&](const Value& item) {
    const Context context = must(select_context(store_, must(context_args(item.get("args")))));
    const Value message = Value::object({{"role", "system"}, {"content", injected_text(store_, context)}});
    expect_equal(Value::object({{"args", item.get("args")},
                                {"selection", context.selection},
                                {"compiled_hashes", context.compiled.hashes},
                                {"system_message", message}}),
                 item, plain(item.get("args")));
  });
}

INSTANTIATE_TEST_SUITE_P(Breadboard, VectorTest, ::testing::ValuesIn(cases()), [](const auto& vector) { return vector.param; });

TEST(VectorFilesTest, AllTwelveAreThere) { EXPECT_EQ(cases().size(), 12u); }

}  // namespace
}  // namespace weir::breadboard
