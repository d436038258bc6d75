// What one more prompt costs in a long session, in steps of the folds, and what a process that has just begun has to do: the
// same in a session of 100,000 entries as in one of 10,000. What is saved beside the log is a cache, and may be damaged.
#include <gtest/gtest.h>

#include "service/append.h"
#include "service/compact.h"
#include "service/compile.h"
#include "service/context.h"
#include "session/address.h"
#include "store/sqlite.h"
#include "testing/results.h"
#include "testing/temp_dir.h"

namespace weir {
namespace {

using testing::must;

class ContextFlatTest : public ::testing::Test {
 protected:
  void open() {
    ServiceSettings settings;
    settings.store_directory = directory_.path() + "/store";
    settings.durability = Durability::normal;
    service_.reset();
    service_ = must(Service::open(settings, Store::Access::write, Doors{}));
  }

  // Calls and their results; or calls whose results the host keeps to itself, all of which the run has to remember.
  enum class Results { kept, missing };
  void grow(std::size_t count, Results results = Results::kept) {
    constexpr std::size_t kBatch = 1000;
    for (std::size_t done = 0; done < count;) {
      AppendCall call(*service_, session_, main_head(), std::nullopt, false);
      json::Parser parser;
      for (std::size_t i = 0; i < std::min(kBatch, count); ++i, ++done) {
        const bool calls = results == Results::missing || next_ % 2 == 0;
        const std::size_t n = results == Results::missing ? next_ : next_ / 2;
        const std::string id = "toolu_" + std::to_string(n);
        ++next_;
        const std::string body = calls ? R"({"role":"assistant","content":"reading","tool_calls":[{"id":")" + id +
                                             R"(","name":"read","arguments":{"path":"src/)" + std::to_string(n % 100) + R"(.cc"}}]})"
                                       : R"({"role":"tool","tool_call_id":")" + id + R"(","name":"read","content":"int main() {}"})";
        must(call.add_body("message", must(parser.parse(body)), std::nullopt, std::nullopt, parser.arena()));
      }
      must(call.commit());
    }
  }
  void put(const char* type, const std::string& body) {
    AppendCall call(*service_, session_, main_head(), std::nullopt, false);
    json::Parser parser;
    must(call.add_body(type, must(parser.parse(body)), std::nullopt, std::nullopt, parser.arena()));
    must(call.commit());
  }
  void say(const std::string& text) { put("message", R"({"role":"user","content":")" + text + "\"}"); }
  void compact_now() {
    CompactRequest request;
    request.session = session_;
    request.head = main_head();
    ASSERT_TRUE(must(compact(*service_, request)).pass);
  }
  void build(std::size_t count) {
    open();
    say("Begin.");
    grow(count);
    compact_now();
    say("Go on.");
  }

  std::string context(bool dry_run = false) { return must(ask(dry_run)).text; }
  Result<ContextAnswer> ask(bool dry_run) {
    ContextQuery query{.address = {session_, main_head(), "", false}, .config = {}, .request = {}};
    query.config.compile = compile_defaults(*service_);
    query.dry_run = dry_run;
    return next_context(*service_, query);
  }
  std::uint64_t steps() { return service_->nodes_fold().steps() + service_->run_fold().steps(); }

  // Steps for ten times one more message and its prompt.
  std::uint64_t ten_more() {
    context();
    const std::uint64_t before = steps();
    for (int i = 0; i < 10; ++i) {
      say("And now " + std::to_string(i) + "?");
      context();
    }
    return steps() - before;
  }

  void execute(const std::string& sql) {
    service_.reset();
    const auto connection =
        must(sqlite::Connection::open(directory_.path() + "/store/weir.db", sqlite::Connection::Mode::read_write, 1000));
    must(connection->execute(sql.c_str()));
  }

  testing::TempDir directory_;
  std::unique_ptr<Service> service_;
  const SessionId session_ = SessionId::trusted("talk");
  std::size_t next_ = 0;
};

class ContextFlatSizeTest : public ContextFlatTest, public ::testing::WithParamInterface<std::size_t> {};

TEST_P(ContextFlatSizeTest, OneMorePromptFoldsOnlyWhatIsNew) {
  open();
  grow(GetParam(), Results::missing);
  put("compaction", R"({"summary":"The host's own."})");
  // A message and the manifest of the prompt before it, for the nodes; an append steps the run along by itself.
  EXPECT_LE(ten_more(), 10u * 4);
}

TEST_P(ContextFlatSizeTest, AProcessThatHasJustBegunFoldsOnlyWhatCameSinceTheCompaction) {
  build(GetParam());
  open();
  context(true);
  EXPECT_LE(steps(), 8u);
}

INSTANTIATE_TEST_SUITE_P(Sizes, ContextFlatSizeTest, ::testing::Values(10'000, 100'000));

TEST_F(ContextFlatTest, APromptIsTheSameWhateverIsSavedOrDamaged) {
  build(6000);
  context();
  say("What was the second file?");
  const std::string warm = context(true);
  open();
  EXPECT_EQ(context(true), warm);
  EXPECT_LE(steps(), 16u);
  // One part after another is another one, or gone, and in the end there is nothing saved at all.
  for (const char* sql : {"UPDATE checkpoint SET state = 'of somebody else' WHERE fold = 'nodes.v3.parts'",
                          "DELETE FROM checkpoint WHERE fold = 'run.v2.parts'", "DELETE FROM checkpoint WHERE fold = 'nodes.v3.parts'",
                          "UPDATE checkpoint SET state = 'x' WHERE fold = 'nodes.v3'", "DELETE FROM checkpoint"}) {
    execute(sql);
    open();
    EXPECT_EQ(context(true), warm) << sql;
  }
}

TEST_F(ContextFlatTest, WhereTheLogIsDamagedTooThatIsSaid) {
  build(3000);
  execute("DELETE FROM checkpoint WHERE fold = 'nodes.v3.parts'; UPDATE entry SET body = '{}' WHERE key % 4096 = 50");
  open();
  const auto answer = ask(true);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code(), ErrorCode::CORRUPT) << answer.error().message();
}

TEST_F(ContextFlatTest, SavingAgainWritesOnlyWhatIsNew) {
  build(20'000);
  const auto parts = [&] {
    std::size_t out = 0;
    must(service_->log().read([&](LogReader& reader) -> Result<void> {
      TRY(const SessionRow session, need_session(reader, session_));
      TRY(const auto keys, reader.checkpoints(session.no, ctree::NodesFold::kParts));
      out = keys.size();
      return {};
    }));
    return out;
  };
  const std::size_t before = parts();
  EXPECT_GT(before, 2u * 20'000 / 128);
  grow(2000);
  context();
  const std::size_t after = parts();
  EXPECT_GT(after, before);
  EXPECT_LT(after - before, 100u);
  VerifyReport report;
  must(verify_contexts(*service_, "", report));
  EXPECT_TRUE(report.findings.empty());
}

TEST_F(ContextFlatTest, SavedNodesThatAreNotTheOnesTheEntriesGiveAreFound) {
  build(3000);
  std::string root;
  must(service_->log().read([&](LogReader& reader) -> Result<void> {
    TRY(const SessionRow session, need_session(reader, session_));
    TRY(const auto seqs, reader.checkpoints(session.no, ctree::NodesFold::kName));
    TRY(const auto row, reader.checkpoint(session.no, ctree::NodesFold::kName, seqs.back()));
    root = row->state;
    return {};
  }));
  // The same state, one entry too early.
  must(service_->write([&](LogTxn& txn) -> Result<void> {
    TRY(const SessionRow session, need_session(txn, session_));
    return txn.save_checkpoint(session.no, ctree::NodesFold::kName, {2000, root});
  }));
  VerifyReport report;
  must(verify_contexts(*service_, "", report));
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].what.find("saved nodes:"), 0u);
}

}  // namespace
}  // namespace weir
