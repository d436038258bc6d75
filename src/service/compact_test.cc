#include "service/compact.h"

#include <gtest/gtest.h>

#include <thread>

#include "compaction/run_fold.h"
#include "json/canonical.h"
#include "service/append.h"
#include "service/context.h"
#include "service/run.h"
#include "service/snapshots.h"
#include "session/address.h"
#include "session/path.h"
#include "testing/fault_files.h"
#include "testing/results.h"
#include "testing/temp_dir.h"

namespace weir {
namespace {

using json::Value;
using testing::FaultFiles;
using testing::FileCall;

// A run whose one claim quotes a source that is kept as a blob, due for a snapshot.
class CompactTest : public ::testing::Test {
 protected:
  void SetUp() override {
    open();
    put("RUN_STARTED", R"({"objective":"Judge gauge 7","done_definition":"judged","provenance_mode":"quotes_checked",)"
                       R"("namespace":{"index_id":"river"},"config":{"event_threshold":3,"require_manifests":false}})");
    put("message", R"({"role":"user","content":"Check gauge 7."})");
    put("STEP_STARTED", R"({"step_id":1})");
    put("SOURCE_REGISTERED", R"({"source_id":"log","title":"Log","text":"Gauge 7 reads high on dry days."})");
    put("CHUNK_REGISTERED", R"({"chunk_id":"log#1","source_id":"log","span":{"unit":"utf8","start":0,"end":18},"delivered":true})");
    put("EVIDENCE_REGISTERED", R"({"chunk_id":"log#1","span":{"unit":"utf8","start":0,"end":7}})");
    put("CLAIM_PROPOSED", R"({"claim_id":"c1","statement":"Gauge 7 reads high"})");
    attach("c1");
    put("CLAIM_VERIFIED", R"({"claim_id":"c1"})");
    for (const char* type : {"PLAN_DONE", "ACT_DONE", "OBSERVE_DONE"}) put(type, "{}");
  }

  void open() {
    settings_.store_directory = directory_.path() + "/store";
    service_.reset();
    service_ = Service::open(settings_, Store::Access::write, Doors{.files = files_}).value();
  }
  Result<AppendAnswer> append(std::string_view type, std::string_view body, bool lenient = false) {
    json::Parser parser;
    AppendCall call(*service_, session_, main_head(), std::nullopt, false, {.lenient = lenient});
    TRY_DO(call.add_body(type, parser.parse(body).value(), std::nullopt, std::nullopt, parser.arena()));
    return call.commit();
  }
  void put(std::string_view type, std::string_view body) {
    const auto answer = append(type, body);
    ASSERT_TRUE(answer.ok()) << type << ": " << answer.error().message();
  }
  void attach(const std::string& claim) {
    std::string evidence;
    state()->evidence.in_order();
    for (const auto& [id, record] : state()->evidence.in_order()) evidence = *id;
    put("EVIDENCE_ATTACHED", R"({"claim_id":")" + claim + R"(","evidence_id":")" + evidence + R"("})");
  }
  Result<CompactAnswer> compact_now(bool dry_run = false) {
    CompactRequest request;
    request.session = session_;
    request.head = main_head();
    request.dry_run = dry_run;
    return compact(*service_, request);
  }
  std::shared_ptr<const compaction::RunState> state() {
    std::shared_ptr<const compaction::RunState> out;
    EXPECT_TRUE(service_->log()
                    .read([&](LogReader& reader) -> Result<void> {
                      TRY(const SessionRow session, need_session(reader, session_));
                      TRY(const Seq head, need_head(reader, session, main_head()));
                      TRY(out, service_->run_fold().at(reader, session.no, head));
                      return {};
                    })
                    .ok());
    return out;
  }
  std::vector<std::string> types() {
    std::vector<std::string> out;
    EXPECT_TRUE(service_->log()
                    .read([&](LogReader& reader) -> Result<void> {
                      TRY(const SessionRow session, need_session(reader, session_));
                      TRY(const Seq last, reader.last_seq(session.no));
                      return reader.scan(session.no, 1, last, Order::forward, Columns::without_body, [&](Entry& entry) -> Result<bool> {
                        out.push_back(entry.type);
                        return true;
                      });
                    })
                    .ok());
    return out;
  }
  std::size_t count(std::string_view type) {
    const auto all = types();
    return static_cast<std::size_t>(std::count(all.begin(), all.end(), type));
  }

  testing::TempDir directory_;
  FaultFiles files_;
  ServiceSettings settings_;
  const SessionId session_ = SessionId::trusted("gauge");
  std::unique_ptr<Service> service_;
};

TEST_F(CompactTest, OneDamagedReadIsRetriedAndGivesTheSnapshotThatWouldHaveBeen) {
  const auto expected = compact_now(true);
  ASSERT_TRUE(expected.ok());
  ASSERT_TRUE(expected->pass);
  files_.fail(1, FaultFiles::Lasting::once, FileCall::open);
  const auto answer = compact_now();
  ASSERT_TRUE(answer.ok()) << answer.error().message();
  EXPECT_TRUE(files_.failed());
  EXPECT_TRUE(answer->pass);
  EXPECT_EQ(answer->action, compaction::Action::retry);
  EXPECT_EQ(answer->attempts, 2);
  EXPECT_EQ(answer->snapshot_id, expected->snapshot_id);
  EXPECT_EQ(answer->sequence, 1);
  EXPECT_EQ(count("COMPACTION_FAILED"), 1u);
  EXPECT_EQ(count("compaction"), 1u);
}

TEST_F(CompactTest, ALastingFaultStopsTheRunAndAPersonOpensItAgain) {
  files_.fail(1, FaultFiles::Lasting::for_ever, FileCall::open);
  const auto answer = compact_now();
  files_.work();
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code(), ErrorCode::GATE_FAILED);
  EXPECT_EQ(answer.error().message().substr(0, 74), "compaction sequence 1 failed validation twice (same candidate both times):");
  EXPECT_NE(answer.error().message().find("quotes_verify: 1 quotes not verified; first: claim c1 -> "), std::string::npos);
  EXPECT_EQ(count("COMPACTION_FAILED"), 2u);
  EXPECT_EQ(count("RUN_STOPPED"), 1u);
  EXPECT_EQ(count("compaction"), 0u);
  EXPECT_EQ(append("PLAN_DONE", R"({"step_id":2})").error().code(), ErrorCode::RUN_STOPPED);
  EXPECT_TRUE(append("message", R"({"role":"user","content":"still there?"})").ok());
  EXPECT_EQ(compact_now().error().code(), ErrorCode::RUN_STOPPED);
  EXPECT_EQ(append("RUN_RESUMED", R"({"actor":"RUNTIME"})").error().code(), ErrorCode::ILLEGAL_TRANSITION);
  ASSERT_TRUE(resume_run(*service_, session_, main_head(), "looked at it", {}, false).ok());
  EXPECT_EQ(state()->counted, 3);
  const auto again = compact_now();
  ASSERT_TRUE(again.ok()) << again.error().message();
  EXPECT_EQ(again->sequence, 1);
}

TEST_F(CompactTest, AfterAFirstAttemptThatWasLeftBehindComesTheSecondAndNeverAThird) {
  put("COMPACTION_FAILED", R"({"actor":"COMPACTOR","attempt":1,"cut":")" + state()->cut->pointer.str() + R"(","failed":[],"sequence":1})");
  files_.fail(1, FaultFiles::Lasting::for_ever, FileCall::open);
  const auto answer = compact_now();
  files_.work();
  ASSERT_FALSE(answer.ok());
  EXPECT_NE(answer.error().message().find("(candidates differ)"), std::string::npos);
  EXPECT_EQ(count("COMPACTION_FAILED"), 2u);
  EXPECT_EQ(count("RUN_STOPPED"), 1u);
}

TEST_F(CompactTest, TwoCompactorsWriteOneEntryAndBothNameItsSnapshot) {
  const std::size_t before = types().size();
  std::vector<std::thread> threads;
  std::vector<std::string> ids(4);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    threads.emplace_back([&, i] {
      const auto answer = compact_now();
      ids[i] = answer.ok() ? answer->snapshot_id : answer.error().message();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(types().size(), before + 1);
  for (const std::string& id : ids) EXPECT_EQ(id, ids.front());
}

TEST_F(CompactTest, AnotherProcessFoldsOnFromWhatWasSaved) {
  ASSERT_TRUE(compact_now().ok());
  put("message", R"({"role":"user","content":"And gauge 8?"})");
  const std::string warm = compaction::RunFold::save(*state());
  open();
  const std::uint64_t steps = service_->run_fold().steps();
  EXPECT_EQ(compaction::RunFold::save(*state()), warm);
  EXPECT_EQ(service_->run_fold().steps() - steps, 1u);
  // Without the saved state the same, from the root.
  ASSERT_TRUE(service_
                  ->write([&](LogTxn& txn) -> Result<void> {
                    TRY(const SessionRow session, need_session(txn, session_));
                    return txn.drop_checkpoints(session.no, compaction::RunFold::kName);
                  })
                  .ok());
  open();
  EXPECT_EQ(compaction::RunFold::save(*state()), warm);
}

TEST_F(CompactTest, AColdAppendToALongSessionFoldsOnlyWhatIsNew) {
  json::Parser parser;
  AppendCall call(*service_, session_, main_head(), std::nullopt, false);
  for (int i = 0; i < 3000; ++i) {
    const std::string body = R"({"role":"assistant","content":"step )" + std::to_string(i) + R"("})";
    ASSERT_TRUE(call.add_body("message", parser.parse(body).value(), std::nullopt, std::nullopt, parser.arena()).ok());
  }
  ASSERT_TRUE(call.commit().ok());
  open();
  put("message", R"({"role":"user","content":"one more"})");
  EXPECT_LE(service_->run_fold().steps(), 1100u);
}

TEST_F(CompactTest, ASnapshotThatSomebodyElseSendsIsHeldToItsChecks) {
  const auto first = compact_now();
  ASSERT_TRUE(first.ok());
  const auto shown = show_snapshot(*service_, {session_, main_head(), "", false}, "1").value();
  json::Arena arena;
  const std::string body = R"({"snapshot":)" + json::canonical(shown.snapshot->stored) + "}";
  put("message", R"({"role":"user","content":"news"})");
  const std::size_t before = types().size();
  const auto sent = append("compaction", body);
  ASSERT_FALSE(sent.ok());
  EXPECT_EQ(sent.error().code(), ErrorCode::GATE_FAILED);
  EXPECT_EQ(types().size(), before);
  EXPECT_EQ(append("compaction", R"({"snapshot":{}})").error().code(), ErrorCode::GATE_FAILED);
  EXPECT_EQ(append("compaction", R"({"snapshot":{}})", true).error().code(), ErrorCode::GATE_FAILED);
}

TEST_F(CompactTest, VerifyNamesASnapshotThatDoesNotFollowFromItsLog) {
  ASSERT_TRUE(compact_now().ok());
  VerifyReport report;
  ASSERT_TRUE(verify_snapshots(*service_, "", report).ok());
  EXPECT_TRUE(report.findings.empty());
  const auto shown = show_snapshot(*service_, {session_, main_head(), "", false}, "1").value();
  std::string forged = json::canonical(shown.snapshot->stored);
  forged.replace(forged.find("Gauge 7 reads high"), 18, "Gauge 7 reads low!");
  put("message", R"({"role":"user","content":"news"})");
  // Past the gate, as a program that does not ask it would.
  AppendCall call(*service_, session_, main_head(), std::nullopt, false, {.lenient = true, .trusted = true});
  json::Parser parser;
  ASSERT_TRUE(
      call.add_body("compaction", parser.parse(R"({"snapshot":)" + forged + "}").value(), std::nullopt, std::nullopt, parser.arena()).ok());
  ASSERT_TRUE(call.commit().ok());
  ASSERT_TRUE(verify_snapshots(*service_, "", report).ok());
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_NE(report.findings[0].what.find("snapshot: snapshot_id_deterministic"), std::string::npos) << report.findings[0].what;
}

TEST_F(CompactTest, ANoteChoosesTheFirstFreeNumber) {
  const auto noted = [&](Note note) { return take_note(*service_, session_, main_head(), note, false); };
  Note claim{.kind = "claim", .text = "The float is stuck"};
  const auto added = noted(claim);
  ASSERT_TRUE(added.ok());
  EXPECT_EQ(added->id, "c2");
  EXPECT_EQ(noted({.kind = "claim", .op = "close", .id = "c2"}).error().code(), ErrorCode::INVALID_FIELD);
  EXPECT_EQ(noted({.kind = "claim", .op = "verify"}).error().code(), ErrorCode::INVALID_FIELD);
  EXPECT_EQ(noted({.kind = "question", .text = "Why?"}).value().id, "q1");
  EXPECT_EQ(noted({.kind = "next", .refs = {"look", "ask"}}).value().id, "next");
}

// An append of the same events warns; whoever takes a note is told what to do instead.
TEST_F(CompactTest, ANoteThatNoCompactionCouldPassIsRefusedAndStoresNothing) {
  const auto noted = [&](Note note) { return take_note(*service_, session_, main_head(), note, false); };
  const std::string evidence = *state()->evidence.in_order().front().first;
  ASSERT_TRUE(noted({.kind = "claim", .text = "The float is stuck"}).ok());
  put("CHUNK_REGISTERED", R"({"chunk_id":"log#3","source_id":"log","span":{"unit":"utf8","start":18,"end":31}})");
  const auto undelivered = noted({.kind = "evidence", .span = Note::Span{"log#3", 0, 3}});
  ASSERT_TRUE(undelivered.ok()) << undelivered.error().message();
  const std::size_t before = types().size();
  const struct {
    Note note;
    std::string why, help;
  } kRefused[] = {
      {{.kind = "claim", .op = "verify", .id = "c2"}, "claim c2 is verified without evidence", "weir note claim verify"},
      {{.kind = "conflict", .text = "Dry or wet?", .refs = {evidence}}, "has an empty side", "--other"},
      {{.kind = "conflict", .text = "Dry or wet?"}, "has an empty side", "weir note question add"},
      {{.kind = "evidence", .op = "attach", .id = undelivered->id, .refs = {"c2"}}, "never seen", "weir read"},
      {{.kind = "claim", .op = "verify", .id = "c2", .refs = {undelivered->id}}, "never seen", "weir read"},
  };
  for (const auto& each : kRefused) {
    for (const bool dry_run : {true, false}) {
      const auto answer = take_note(*service_, session_, main_head(), each.note, dry_run);
      ASSERT_FALSE(answer.ok()) << each.why;
      EXPECT_EQ(answer.error().code(), ErrorCode::ILLEGAL_TRANSITION);
      EXPECT_NE(answer.error().message().find(each.why), std::string::npos) << answer.error().message();
      EXPECT_NE(testing::detail(answer.error(), "help").find(each.help), std::string::npos) << answer.error().message();
    }
  }
  EXPECT_EQ(types().size(), before);
  EXPECT_TRUE(compact_now(true)->pass);
  EXPECT_TRUE(noted({.kind = "claim", .op = "verify", .id = "c2", .refs = {evidence}}).ok());
  EXPECT_TRUE(compact_now()->pass);
}

// What an append left broken is mended by notes; it is no reason to refuse them.
TEST_F(CompactTest, ANoteIsNotRefusedForWhatWasBrokenBefore) {
  const auto noted = [&](Note note) { return take_note(*service_, session_, main_head(), note, false); };
  const std::string evidence = *state()->evidence.in_order().front().first;
  for (const char* id : {"c2", "c3"}) {
    put("CLAIM_PROPOSED", R"({"claim_id":")" + std::string(id) + R"(","statement":"s"})");
    put("CLAIM_VERIFIED", R"({"claim_id":")" + std::string(id) + R"("})");
  }
  EXPECT_TRUE(noted({.kind = "question", .text = "Why?"}).ok());
  EXPECT_TRUE(noted({.kind = "evidence", .op = "attach", .id = evidence, .refs = {"c2"}}).ok());
  EXPECT_FALSE(noted({.kind = "claim", .op = "verify", .id = "c3"}).ok());
  EXPECT_FALSE(compact_now(true)->pass);
  EXPECT_TRUE(noted({.kind = "claim", .op = "downgrade", .id = "c3", .text = "no evidence"}).ok());
  EXPECT_TRUE(compact_now()->pass);
}

TEST_F(CompactTest, EveryRefusalOfAStoppedRunSaysWhatAPersonTypes) {
  put("CLAIM_PROPOSED", R"({"claim_id":"c2","statement":"s"})");
  put("CLAIM_VERIFIED", R"({"claim_id":"c2"})");
  const std::string help = "a person reopens it: weir resume --session gauge";
  const auto failed = compact_now();
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code(), ErrorCode::GATE_FAILED);
  EXPECT_EQ(testing::detail(failed.error(), "help"), help);
  const auto says = [&](const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::RUN_STOPPED) << error.message();
    EXPECT_EQ(testing::detail(error, "help"), help);
  };
  says(compact_now().error());
  says(append("PLAN_DONE", "{}").error());
  says(append("STEP_STARTED", R"({"step_id":9})").error());
  says(take_note(*service_, session_, main_head(), {.kind = "question", .text = "Why?"}, false).error());
  says(next_context(*service_, {.address = {.session = session_, .head = main_head()}}).error());
  says(stop_run(*service_, session_, main_head(), "HUMAN_REQUESTED", false).error());
  EXPECT_TRUE(resume_run(*service_, session_, main_head(), std::nullopt, {}, false).ok());
  EXPECT_TRUE(append("PLAN_DONE", "{}").ok());
}

}  // namespace
}  // namespace weir
