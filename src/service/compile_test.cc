#include "service/compile.h"

#include <gtest/gtest.h>

#include "json/canonical.h"
#include "json/parse.h"
#include "service/append.h"
#include "service/context.h"
#include "session/address.h"
#include "testing/temp_dir.h"

namespace weir {
namespace {

using json::Value;

// The worked example S of docs/ctree.md, in a store in memory.
class CompileServiceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    service_ = Service::open(settings_, Store::Access::write, Doors{}).value();
    message(R"({"role":"system","content":"You are terse."})");
    message(R"({"role":"user","content":"List the files."})");
    message(R"({"role":"assistant","content":"","tool_calls":[{"id":"t","name":"ls","arguments":{"path":"."}}]})");
    message(R"({"role":"tool","tool_call_id":"t","name":"ls","content":"a.txt\nb.txt"})");
    message(R"({"role":"assistant","content":"Two files: a.txt, b.txt."})");
    message(R"({"role":"user","content":"Thanks."})");
  }

  Result<AppendAnswer> append(std::string_view type, std::string_view body) {
    json::Parser parser;
    AppendCall call(*service_, session_, main_head(), std::nullopt, false);
    TRY_DO(call.add_body(type, parser.parse(body).value(), std::nullopt, std::nullopt, parser.arena()));
    return call.commit();
  }
  void message(std::string_view body) { ASSERT_TRUE(append("message", body).ok()); }

  Address address() const { return {session_, main_head(), "", false}; }
  Compilation compiled(ctree::CompileConfig config = {}) {
    return compile_at(*service_, {.address = address(), .config = std::move(config)}).value();
  }

  std::vector<std::string> keys(const Value& object) {
    std::vector<std::string> out;
    for (const json::Member& member : object.members()) out.emplace_back(member.key);
    return out;
  }

  const SessionId session_ = SessionId::trusted("demo");
  ServiceSettings settings_;
  std::unique_ptr<Service> service_;
  json::Arena arena_;
};

using Keys = std::vector<std::string>;

TEST_F(CompileServiceTest, ANodeEventShowsTheSanitisedPayloadAndTheSnapshotAfterIt) {
  const Compilation at = compiled();
  const Value event = node_event(*service_, at, 2, PayloadForm::sanitised, arena_).value();
  const Value& node = *event.find("node");
  EXPECT_EQ(keys(node), (Keys{"bytes", "digest", "id", "kind", "payload", "payload_hash", "payload_shape", "turn"}));
  EXPECT_EQ(json::canonical(*node.find("payload")),
            R"({"content":"","role":"assistant","tool_calls":[{"arguments":{"path":"."},"id":"call_0001","name":"ls"}]})");
  EXPECT_EQ(json::canonical(*node.find("payload_shape")), R"(["content","role","tool_calls"])");
  const Value first = node_event(*service_, at, 0, PayloadForm::hash, arena_).value();
  EXPECT_EQ(first.find("node")->find("payload"), nullptr);
  EXPECT_EQ(first.find("snapshot")->text_or("node_hash", ""), "74bb487e72108a6e6d29e56ab351dc4b6cc00f27f19c2c54e57d5e1f07b9611a");
  EXPECT_EQ(first.find("snapshot")->text_or("last_id", ""), "n00000000_b114efbb");
}

TEST_F(CompileServiceTest, ASnapshotEventHoldsTheCompilersOutputAndTheSummary) {
  const Compilation at = compiled();
  const Value event = snapshot_event(at, arena_);
  EXPECT_EQ(keys(event), (Keys{"collapse", "compiler", "context_engine", "hash_summary", "runner", "snapshot"}));
  json::Parser parser;
  const std::string text = json::canonical(event);
  const Value read = parser.parse(text).value();
  EXPECT_EQ(keys(*read.find("hash_summary")), (Keys{"collapse", "compiler", "schema_version", "selection", "snapshot", "summary_sha256"}));
  EXPECT_EQ(keys(*read.find("compiler")->find("stages")), (Keys{"FROZEN", "HEADER", "RAW", "SPEC"}));
}

TEST_F(CompileServiceTest, TheAnswerOfCtreesHasOneShapeEmptyOrNot) {
  const Compilation full = compiled();
  ASSERT_TRUE(service_
                  ->write([&](LogTxn& txn) -> Result<void> {
                    const auto made = txn.create_session(SessionId::trusted("empty"), TimeMs{1});
                    return made.ok() ? Result<void>() : Result<void>(made.error());
                  })
                  .ok());
  const Compilation empty = compile_at(*service_, {.address = {SessionId::trusted("empty"), main_head(), "", false}, .config = {}}).value();
  const Value a = ctrees_json(*service_, full, arena_).value(), b = ctrees_json(*service_, empty, arena_).value();
  EXPECT_EQ(keys(a), keys(b));
  EXPECT_EQ(keys(a), (Keys{"collapse", "compiler", "context_engine", "entry", "hash_summary", "last_node", "profile", "runner",
                           "schema_version", "session", "snapshot", "truncated"}));
  EXPECT_EQ(a.find("last_node")->text_or("id", ""), "n00000005_f71f36e5");
  EXPECT_TRUE(b.find("last_node")->is_null());
  EXPECT_TRUE(b.find("entry")->is_null());
  EXPECT_EQ(empty.compiled.z[0].hex(), "3fc5b847b91483187fb79c2f381a2e6a94dfb4e310d2b42a230a974a602b93fd");
}

TEST_F(CompileServiceTest, TheTreeShowsWhatWasKeptAndOnRequestWhatWasNot) {
  ctree::CompileConfig config;
  config.selection.max_nodes = 4;
  const Compilation at = compiled(config);
  const auto leaves = [&](std::string_view show) {
    std::size_t count = 0;
    const Value tree = ctrees_tree(*service_, at, "FROZEN", show, arena_).value();
    for (const Value& node : tree.find("nodes")->items()) count += node.text_or("id", "").starts_with("ctrees:node:");
    return count;
  };
  EXPECT_EQ(leaves("selected"), 3u);
  EXPECT_EQ(leaves("all"), 6u);
  EXPECT_EQ(ctrees_tree(*service_, at, "frozen", "all", arena_).error().code(), ErrorCode::INVALID_FIELD);
  EXPECT_EQ(ctrees_tree(*service_, at, "RAW", "some", arena_).error().fields().size(), 1u);
}

TEST_F(CompileServiceTest, EventsComeInPages) {
  const Compilation at = compiled();
  const Value page = ctrees_events(*service_, at, 4, 1, arena_).value();
  EXPECT_EQ(keys(page), (Keys{"events", "has_more", "header", "limit", "offset", "source", "truncated"}));
  ASSERT_EQ(page.find("events")->items().size(), 1u);
  EXPECT_EQ(keys(page.find("events")->items()[0]), (Keys{"kind", "node_id", "payload", "turn"}));
  EXPECT_TRUE(page.find("has_more")->boolean());
  EXPECT_FALSE(ctrees_events(*service_, at, 5, 100, arena_)->find("has_more")->boolean());
  EXPECT_EQ(ctrees_events(*service_, at, 9, 100, arena_)->find("events")->items().size(), 0u);
  EXPECT_EQ(ctrees_events(*service_, at, 0, 1001, arena_).error().code(), ErrorCode::INVALID_FIELD);
}

TEST_F(CompileServiceTest, SecretsAreInNoEventWhateverWasStored) {
  const std::string secret = std::string("sk-") + "ant-" + std::string(30, 'q');
  settings_.mask.enabled = false;
  service_ = Service::open(settings_, Store::Access::write, Doors{}).value();
  message(R"({"role":"user","content":"my key is )" + secret + "\"}");
  ASSERT_TRUE(append("ctree_node", R"({"kind":"lifecycle","payload":{"type":"start","api_key":")" + secret + "\"}}").ok());
  ASSERT_TRUE(append("compaction", R"({"summary":")" + secret + "\"}").ok());
  ctree::CompileConfig config;
  config.previews = true;
  const Compilation at = compiled(config);
  std::string all = json::canonical(ctrees_json(*service_, at, arena_).value()) + json::canonical(snapshot_event(at, arena_)) +
                    json::canonical(ctrees_tree(*service_, at, "HEADER", "all", arena_).value()) +
                    json::canonical(ctrees_events(*service_, at, 0, 100, arena_).value());
  for (ctree::Ordinal i = 0; i < at.state->size(); ++i)
    all += json::canonical(node_event(*service_, at, i, PayloadForm::sanitised, arena_).value());
  EXPECT_EQ(all.find(secret), std::string::npos);
  EXPECT_NE(all.find(kRedacted), std::string::npos);
}

TEST_F(CompileServiceTest, AKeyChangesEveryHashAndTheSchemaVersion) {
  const Compilation plain = compiled();
  settings_.nodes.key_id = "k1";
  settings_.nodes.key = "a key";
  SetUp();
  const Compilation keyed = compiled(compile_defaults(*service_));
  EXPECT_EQ(keyed.compiled.schema_version, "weir-1+hmac");
  for (int i = 0; i < 4; ++i) EXPECT_NE(keyed.compiled.z[i], plain.compiled.z[i]);
  EXPECT_NE(keyed.compiled.node_hash, plain.compiled.node_hash);
  // Asked for without the key, the path is folded anew.
  EXPECT_EQ(compiled().compiled.z, plain.compiled.z);
  ctree::CompileConfig other;
  other.hash_key_id = "k2";
  EXPECT_EQ(compile_at(*service_, {.address = address(), .config = other}).error().code(), ErrorCode::CONFIG_INVALID);
}

TEST_F(CompileServiceTest, ANodeIdIsGivenOnceOnAPath) {
  ASSERT_TRUE(append("ctree_node", R"({"kind":"note","payload":1,"node_id":"mine"})").ok());
  EXPECT_EQ(append("ctree_node", R"({"kind":"note","payload":2,"node_id":"mine"})").error().code(), ErrorCode::ID_REUSED);
  EXPECT_EQ(append("ctree_node", R"({"kind":"turn","payload":2})").error().code(), ErrorCode::KIND_INVALID);
  EXPECT_EQ(append("ctree_node", R"({"kind":"note","turn":1.5})").error().fields().size(), 2u);
  EXPECT_EQ(compiled().state->size(), 7u);
}

TEST_F(CompileServiceTest, AnotherProcessStartsFromTheSavedNodes) {
  const testing::TempDir directory;
  settings_.store_directory = directory.path() + "/store";
  service_ = Service::open(settings_, Store::Access::write, Doors{}).value();
  for (int batch = 0; batch < 5; ++batch) {
    AppendCall call(*service_, session_, main_head(), std::nullopt, false);
    json::Parser parser;
    const Value body = parser.parse(R"({"role":"user","content":"again"})").value();
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE(call.add_body("message", body, std::nullopt, std::nullopt, parser.arena()).ok());
    ASSERT_TRUE(call.commit().ok());
  }
  const ContextQuery query{.address = address(), .config = {}};
  const auto first = next_context(*service_, query);
  ASSERT_TRUE(first.ok()) << first.error().message();
  const std::string z4 = compiled().compiled.z[3].hex();
  service_ = Service::open(settings_, Store::Access::write, Doors{}).value();
  EXPECT_EQ(compiled().compiled.z[3].hex(), z4);
  EXPECT_LT(service_->nodes_fold().steps(), 10u);
}

}  // namespace
}  // namespace weir
