#include "compaction/validate.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "compaction/snapshot.h"
#include "json/canonical.h"
#include "json/digest.h"
#include "testing/checked_run.h"
#include "testing/effort.h"
#include "testing/results.h"
#include "testing/snapshot_edit.h"

namespace weir::compaction {
namespace {

using testing::at;
using testing::CheckedRun;
using testing::Edit;
using testing::edited;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kErase;
using testing::kGaugeSnapshot;
using testing::look_up;
using testing::must;
using testing::RunPath;
using testing::with;

// ---- verdicts in words ----

std::string show(const Verdict& verdict) {
  std::string out;
  for (const Check* check : verdict.failed()) out += fmt::format("{}: {}\n", check->name, check->message);
  return out.empty() ? "PASS" : out;
}

std::string message(const Verdict& verdict, std::string_view name) {
  for (const Check& check : verdict.checks) {
    if (check.name == name) return (check.pass ? "PASS " : "FAIL ") + check.message;
  }
  return "(no such check)";
}

// ---- runs ----

const std::string kFirst = "ev1_8b187c06c2e72a790bf7aff6054ffb39", kSecond = "ev1_7319bd1d99523a4d82f3daa1e00876c8";

std::string manifest(std::int64_t step) {
  json::Parser parser;
  json::Arena arena;
  const json::Value content = must(parser.parse(fmt::format(R"({{"step_id":{}}})", step)));
  const std::string id = "man1_" + json::digest(json::Domain::manifest_id, content).hex().substr(0, 32);
  return fmt::format(R"({{"manifest":{{"step_id":{}}},"manifest_id":"{}","step_id":{}}})", step, id, step);
}

CheckedRun& second_stretch(CheckedRun& log) {
  return log.add("STEP_STARTED", R"({"step_id":2})")
      .add("CONTEXT_MANIFEST_WRITTEN", manifest(2))
      .add("PLAN_DONE", R"({"step_id":2})")
      .add("CLAIM_PROPOSED", R"({"claim_id":"c3","statement":"On 3 May it agreed"})")
      .add("EVIDENCE_ATTACHED", fmt::format(R"({{"claim_id":"c3","evidence_id":"{}"}})", kSecond))
      .add("CLAIM_VERIFIED", R"({"claim_id":"c3"})")
      .add("CLAIM_RETRACTED", R"({"claim_id":"c2","reason":"no trace of it"})")
      .add("QUESTION_OPENED", R"({"question_id":"q2","text":"Who read it?"})")
      .add("ACT_DONE", R"({"step_id":2})")
      .add("OBSERVE_DONE", R"({"step_id":2})");
}

// A run with a snapshot behind it and another due.
CheckedRun two_snapshots() {
  CheckedRun log;
  log.compact(Trigger::event_threshold);
  second_stretch(log);
  return log;
}

CheckedRun plain() {
  RunPath path;
  path.message(R"({"content":"fix the build","role":"user"})").message(R"({"content":"done","role":"assistant"})");
  return CheckedRun(path);
}

// ---- the page's own figures ----

TEST(ValidateTest, TheFullExampleGetsThePagesVerdictWordForWord) {
  CheckedRun log;
  json::Arena arena;
  const Verdict verdict = log.check(kGaugeSnapshot);
  EXPECT_EQ(show(verdict), "PASS");
  EXPECT_EQ(json::canonical(verdict.to_json(Action::none, arena)), at(kGaugeSnapshot, "validation"));
  EXPECT_EQ(at(log.snapshot(Trigger::event_threshold), "snapshot_id"), R"("snap1_42ac2334deb41027728c576a4bfdfd20")");
}

TEST(ValidateTest, ASecondSnapshotIsHeldAgainstTheFirst) {
  const CheckedRun log = two_snapshots();
  const Verdict verdict = log.check(log.snapshot(Trigger::event_threshold));
  EXPECT_EQ(show(verdict), "PASS");
  EXPECT_EQ(verdict.checks.size(), 25u);
  EXPECT_EQ(message(verdict, "sequence_contiguous"), "PASS sequence 2 follows 1");
  EXPECT_EQ(message(verdict, "objective_unchanged"), "PASS objective identical to RUN_STARTED and snapshot 1");
  EXPECT_EQ(message(verdict, "done_definition_unchanged"), "PASS done_definition identical to RUN_STARTED and snapshot 1");
  EXPECT_EQ(message(verdict, "event_range_contiguous"), "PASS positions 24..34");
  EXPECT_EQ(message(verdict, "counts_match_log"), "PASS 1 steps, 3 counted events");
  EXPECT_EQ(message(verdict, "no_silent_drop"), "PASS every id of snapshot 1 still present, statements unchanged");
  EXPECT_EQ(message(verdict, "quotes_verify"), "PASS 4 quotes re-hashed from stored chunks");
  EXPECT_EQ(message(verdict, "manifests_complete"), "PASS 1 steps, 1 manifests");
}

TEST(ValidateTest, APlainSessionIsHeldAgainstItsFirstMessage) {
  CheckedRun log = plain();
  const Verdict first = log.check(log.snapshot());
  EXPECT_EQ(show(first), "PASS");
  EXPECT_EQ(message(first, "objective_unchanged"), "PASS objective identical to the first user message");
  EXPECT_EQ(message(first, "done_definition_unchanged"), "PASS done_definition identical to the plain-session default");
  EXPECT_EQ(message(first, "quotes_verify"), "PASS not checked: provenance_mode is audit_only");
  EXPECT_EQ(message(first, "manifests_complete"), "PASS not required, 0 manifests");
  log.compact().add("message", R"({"content":"and the tests","role":"user"})");
  const Verdict second = log.check(log.snapshot());
  EXPECT_EQ(show(second), "PASS");
  EXPECT_EQ(message(second, "objective_unchanged"), "PASS objective identical to the first user message and snapshot 1");
  EXPECT_EQ(message(log.check(with(log.snapshot(), {{"objective", R"("fix")"}})), "objective_unchanged"),
            "FAIL objective differs from the first user message");
  EXPECT_EQ(message(log.check(with(log.snapshot(), {{"done_definition", "{}"}})), "done_definition_unchanged"),
            "FAIL done_definition differs from the plain-session default");
}

// ---- corruptions of the candidate ----

struct Corruption {
  std::string_view check;
  std::vector<Edit> edits;
  std::string message;
};

TEST(ValidateTest, EachCheckNamesTheCorruptionItIsFor) {
  const CheckedRun log = two_snapshots();
  const std::string shown = log.snapshot(Trigger::event_threshold);
  const std::string id = at(shown, "snapshot_id"), other = std::string(R"("snap1_00000000000000000000000000000000")");
  const std::string c1 = at(shown, "state.claims.0"), pointer = at(shown, "state.claims.0.evidence_refs.0");
  const std::string failure = at(shown, "state.failures.0.failure_id");
  const std::string first_id = at(shown, "previous_snapshot_id");
  const std::string ledger = at(shown, "provenance.ledger_digest"), long_text = '"' + std::string(20000, 'x') + '"';
  const Corruption corruptions[] = {
      {"schema_keys_and_types", {{"state.conflicts", std::string(kErase)}}, "1 schema problems; first: state.conflicts missing"},
      {"schema_keys_and_types", {{"sequence", "true"}}, "1 schema problems; first: sequence is boolean, expected integer"},
      {"sequence_contiguous", {{"sequence", "3"}}, "sequence 3 after 1"},
      {"sequence_contiguous", {{"previous_snapshot_id", "null"}}, "previous_snapshot_id is null, expected " + first_id},
      {"sequence_contiguous", {{"previous_snapshot_id", other}}, "previous_snapshot_id is " + other + ", expected " + first_id},
      {"run_id_stable", {{"run_id", R"("gauge-8")"}}, "run_id is gauge-8, session is gauge-7"},
      {"objective_unchanged", {{"objective", R"("Which readings of gauge_8 can be trusted?")"}}, "objective differs from RUN_STARTED"},
      {"done_definition_unchanged", {{"done_definition", "{}"}}, "done_definition differs from RUN_STARTED"},
      {"event_range_contiguous", {{"provenance.first_pos", "1"}}, "first_pos 1, expected 24"},
      {"event_range_contiguous", {{"provenance.last_pos", "9"}}, "last_pos 9, log_digest is at position 34"},
      {"counts_match_log",
       {{"counts.counted_events_since_last_compaction", "7"}},
       R"(counts say {"counted_events_since_last_compaction":7,"steps_since_last_compaction":1}, log gives {"counted_events_since_last_compaction":3,"steps_since_last_compaction":1})"},
      {"counts_match_log", {{"provenance.trigger", R"("STEP_FALLBACK")"}}, "trigger is STEP_FALLBACK, log gives EVENT_THRESHOLD"},
      {"ledger_consistent", {{"provenance.ledger_digest", R"("00")"}}, "ledger_digest is 00, log gives " + ledger.substr(1, 64)},
      {"ids_unique", {{"state.claims.3", c1}}, "1 duplicate ids; first: c1"},
      {"evidence_pointers_well_formed",
       {{"state.claims.0.evidence_refs.0.span", std::string(kErase)}},
       "1 malformed pointers; first: claim c1"},
      {"evidence_pointers_well_formed", {{"state.claims.0.evidence_refs.0.span.end", "0"}}, "1 malformed pointers; first: claim c1"},
      {"evidence_pointers_well_formed",
       {{"state.conflicts.0.side_a_refs.0.quote", R"("q")"}},
       "1 malformed pointers; first: conflict k1/a"},
      {"evidence_pointers_well_formed",
       {{"state.claims.2.withdrawn_refs.0", "null"}, {"state.conflicts.0.side_b_refs.0.span.start", "true"}},
       "2 malformed pointers; first: claim c3"},
      {"evidence_pointers_resolve",
       {{"state.claims.0.evidence_refs.0.span.end", "54"}},
       "1 pointers not in the ledger as written; first: claim c1 -> " + kFirst},
      {"evidence_pointers_resolve",
       {{"state.conflicts.0.side_b_refs.0.evidence_id", R"("ev1_x")"}},
       "1 pointers not in the ledger as written; first: conflict k1/b -> ev1_x"},
      {"verified_claims_have_evidence", {{"state.claims.0.evidence_refs", "[]"}}, "1 verified claims without evidence; first: c1"},
      {"no_new_verified_claims",
       {{"state.claims.1.status", R"("verified")"}, {"state.claims.1.evidence_refs.0", pointer}},
       "1 verified claims without ledger warrant; first: c2 has no CLAIM_VERIFIED entry"},
      {"no_new_verified_claims",
       {{"state.claims.3", c1}, {"state.claims.3.claim_id", R"("c9")"}},
       "1 verified claims without ledger warrant; first: c9 has no CLAIM_VERIFIED entry"},
      {"no_new_verified_claims",
       {{"state.claims.0.statement", R"("gauge_7 reads high")"}},
       "1 verified claims without ledger warrant; first: c1 statement differs from the ledger"},
      {"no_new_verified_claims",
       {{"state.claims.2.evidence_refs.0", pointer}},
       "1 verified claims without ledger warrant; first: c3 cites evidence the ledger does not link"},
      {"conflicts_two_sided", {{"state.conflicts.0.side_b_refs", "[]"}}, "1 conflicts not two-sided; first: k1 has an empty side"},
      {"conflicts_two_sided",
       {{"state.conflicts.0.side_b_refs.0", pointer}},
       "1 conflicts not two-sided; first: k1 cites the same evidence on both sides"},
      {"conflicts_two_sided",
       {{"state.conflicts.0.side_a_refs.1", pointer}, {"state.conflicts.0.side_b_refs", "[]"}},
       "1 conflicts not two-sided; first: k1 has an empty side"},
      {"no_silent_drop", {{"state.claims.1", std::string(kErase)}}, "1 ids of the previous snapshot are gone; first: c2"},
      {"no_silent_drop",
       {{"state.failures.0", std::string(kErase)}},
       "1 ids of the previous snapshot are gone; first: " + failure.substr(1, failure.size() - 2)},
      {"no_silent_drop", {{"state.claims.1.statement", R"("It is the float")"}}, "1 claim statements reworded; first: c2"},
      {"fold_reproduces_state",
       {{"state.open_questions.1", std::string(kErase)}},
       "differs from a replay of the log; first: state.open_questions[1]"},
      {"fold_reproduces_state", {{"notes", "[]"}}, "differs from a replay of the log; first: notes"},
      {"fold_reproduces_state", {{"state.claims.0.notes", "[]"}}, "differs from a replay of the log; first: state.claims[0].notes"},
      {"fold_reproduces_state",
       {{"state.claims.2.status", R"("candidate")"}},
       "differs from a replay of the log; first: state.claims[2].status"},
      {"fold_reproduces_state",
       {{"state.claims.0", at(shown, "state.claims.1")}, {"state.claims.1", c1}},
       "differs from a replay of the log; first: state.claims[0].claim_id"},
      {"coverage_consistent",
       {{"state.source_coverage.chunk_ids_seen", R"(["log-2026#2","log-2026#1"])"}},
       "chunk_ids_seen is not a sorted set"},
      {"coverage_consistent",
       {{"state.source_coverage.chunk_ids_cited", R"(["log-2026#1"])"}},
       "chunk_ids_cited is not the set of cited chunks"},
      {"coverage_consistent",
       {{"state.source_coverage.chunk_ids_seen", R"(["log-2026#2"])"}},
       "1 chunks cited but never seen; first: log-2026#1"},
      {"manifests_complete",
       {{"latest_context_manifest_ids", "[]"}},
       "1 manifest problems; first: latest_context_manifest_ids does not list the manifests of this range"},
      {"deltas_match_previous",
       {{"deltas.claims_retracted", "[]"}},
       "deltas are not the difference to the previous snapshot; first: deltas.claims_retracted[0]"},
      {"pointers_only", {{"state.claims.0.quote", R"("q")"}}, "1 inlined blobs; first: state.claims[0].quote is a raw-content key"},
      {"pointers_only",
       {{"state.open_questions.1", long_text}, {"state.claims.0.tool_output", "{}"}},
       "2 inlined blobs; first: state.claims[0].tool_output is a raw-content key"},
      {"pointers_only", {{"state.open_questions.1", long_text}}, "1 inlined blobs; first: state.open_questions[1] is 20000 bytes"},
  };
  for (const Corruption& corruption : corruptions) {
    EXPECT_EQ(message(log.check(with(shown, corruption.edits)), corruption.check), "FAIL " + corruption.message);
  }
  const Verdict kept_id = log.check(with(shown, {{"state.next_actions", "[]"}}, false));
  EXPECT_THAT(message(kept_id, "snapshot_id_deterministic"),
              ::testing::MatchesRegex("FAIL snapshot_id is " + id.substr(1, id.size() - 2) + ", content gives snap1_[0-9a-f]+"));
}

TEST(ValidateTest, OnlyWhatIsNotHashedMayChange) {
  const CheckedRun log = two_snapshots();
  const std::string shown = log.snapshot(Trigger::event_threshold);
  EXPECT_EQ(show(log.check(with(shown, {{"created_at", R"("2031-01-02T03:05:00+02:00")"}}, false))), "PASS");
  EXPECT_EQ(show(log.check(with(shown, {{"provenance.located.last_id", R"("x")"}}, false))), "PASS");
  for (const char* trigger : {R"("MANUAL")", R"("EGRESS")", R"("HOST_BARRIER")"})
    EXPECT_EQ(show(log.check(with(shown, {{"provenance.trigger", trigger}}))), "PASS") << trigger;
  EXPECT_NE(show(log.check(with(shown, {{"provenance.compactor_version", R"("weir.snapshot/2")"}}))), "PASS");
}

TEST(ValidateTest, ADemotedClaimMayBeDemotedOnlyByTheLog) {
  const CheckedRun log = two_snapshots();
  const Verdict verdict =
      log.check(with(log.snapshot(), {{"state.claims.0.status", R"("candidate")"}, {"state.claims.0.evidence_refs", "[]"}}));
  EXPECT_EQ(message(verdict, "verified_claims_have_evidence"), "PASS 1 verified claims, each with at least 1 pointer");
  EXPECT_EQ(message(verdict, "no_new_verified_claims"), "PASS 1 verified claims warranted by the ledger");
  EXPECT_EQ(message(verdict, "fold_reproduces_state"), "FAIL differs from a replay of the log; first: state.claims[0].evidence_refs[0]");
}

// ---- corruptions of the log ----

// What the log's own snapshot is found guilty of.
std::string verdict_of(const CheckedRun& log, std::string_view check, Trigger trigger = Trigger::manual) {
  return message(log.check(log.snapshot(trigger)), check);
}

TEST(ValidateTest, AnomaliesOfTheLogAreNamedWithTheirPlace) {
  CheckedRun log;
  log.add("CLAIM_RETRACTED", R"({"claim_id":"c2","reason":"r"})").add("CLAIM_VERIFIED", R"({"claim_id":"c2"})");
  const std::string place = Pointer{log.path.entries.back().digest.prefix64()}.str();
  EXPECT_EQ(verdict_of(log, "life_cycle_legal"), "FAIL 1 illegal transitions; first: CLAIM_VERIFIED on retracted claim c2 at " + place);
  EXPECT_EQ(verdict_of(log, "ledger_consistent"), "PASS 2 evidence records, 0 withdrawn");
  log.add("RUN_STOPPED", R"({"stop_reason":"SYSTEM_ERROR"})")
      .add("RUN_RESUMED", R"({"actor":"HUMAN","note":"seen","forgive":[")" + place + R"("]})");
  EXPECT_EQ(show(log.check(log.snapshot())), "PASS");
  CheckedRun twice;
  twice.add("EVIDENCE_REGISTERED",
            fmt::format(R"({{"chunk_id":"log-2026#1","corpus_id":null,"evidence_id":"{}","index_id":"river@1","quote_bytes":55,)"
                        R"("quote_sha256":"{}","source_id":"log-2026","span":{{"end":55,"start":0,"unit":"utf8"}}}})",
                        kFirst, std::string(64, '0')));
  EXPECT_THAT(verdict_of(twice, "ledger_consistent"),
              HasSubstr("FAIL 1 ledger problems; first: evidence " + kFirst + " registered twice with different content"));
  EXPECT_EQ(verdict_of(twice, "life_cycle_legal"), "PASS no illegal transition");
}

CheckedRun& cite(CheckedRun& log, std::string_view id, std::string_view quote_sha256, std::string_view chunk = "log-2026#1",
                 std::string_view unit = "utf8") {
  return log
      .add("EVIDENCE_REGISTERED",
           fmt::format(R"({{"chunk_id":"{}","corpus_id":null,"evidence_id":"{}","index_id":"river@1","quote_bytes":5,)"
                       R"("quote_sha256":"{}","source_id":"log-2026","span":{{"end":5,"start":0,"unit":"{}"}}}})",
                       chunk, id, quote_sha256, unit))
      .add("EVIDENCE_ATTACHED", fmt::format(R"({{"claim_id":"c1","evidence_id":"{}"}})", id));
}

std::string derived_id(std::string_view chunk, std::string_view unit = "utf8") {
  Evidence evidence;
  evidence.index_id = "river@1";
  evidence.chunk_id = chunk;
  evidence.span = {std::string(unit), 0, 5};
  return derive_evidence_id(evidence);
}

TEST(ValidateTest, AnUnderivedEvidenceIdIsNamedWhereItIsReliedOn) {
  CheckedRun log;
  cite(log, "ev1_mine", sha256("Gauge").hex());
  EXPECT_EQ(verdict_of(log, "evidence_ids_deterministic"), "FAIL 1 evidence ids do not follow the derivation; first: ev1_mine");
  EXPECT_EQ(verdict_of(log, "evidence_pointers_resolve"), "PASS 4 pointers resolve in the ledger");
  log.add("EVIDENCE_WITHDRAWN", R"({"evidence_id":"ev1_mine","reason":"r"})");
  EXPECT_EQ(verdict_of(log, "evidence_ids_deterministic"), "PASS 2 cited evidence ids recomputed");
  EXPECT_EQ(verdict_of(log, "evidence_pointers_resolve"), "PASS 4 pointers resolve in the ledger");
}

TEST(ValidateTest, QuotesAreHashedAgainFromTheirChunks) {
  CheckedRun wrong;
  const std::string id = derived_id("log-2026#1");
  cite(wrong, id, std::string(64, '0'));
  EXPECT_EQ(verdict_of(wrong, "quotes_verify"),
            "FAIL 1 quotes not verified; first: claim c1 -> " + id + ": bytes do not hash to quote_sha256");
  wrong.add("EVIDENCE_WITHDRAWN", fmt::format(R"({{"evidence_id":"{}","reason":"r"}})", id));
  EXPECT_EQ(verdict_of(wrong, "quotes_verify"), "PASS 3 quotes re-hashed from stored chunks");

  CheckedRun right;
  cite(right, id, sha256("Gauge").hex());
  right.chunks_read = 0;
  EXPECT_EQ(verdict_of(right, "quotes_verify"), "PASS 4 quotes re-hashed from stored chunks");
  EXPECT_EQ(right.chunks_read, 2u) << "each chunk once";

  CheckedRun unknown;
  cite(unknown, derived_id("x"), sha256("Gauge").hex(), "x");
  EXPECT_EQ(verdict_of(unknown, "quotes_verify"),
            "FAIL 1 quotes not verified; first: claim c1 -> " + derived_id("x") + ": no stored bytes for chunk x");
  EXPECT_EQ(verdict_of(unknown, "coverage_consistent"), "FAIL 1 chunks cited but never seen; first: x");

  CheckedRun page;
  cite(page, derived_id("log-2026#1", "page"), sha256("Gauge").hex(), "log-2026#1", "page");
  EXPECT_EQ(verdict_of(page, "quotes_verify"),
            "FAIL 1 quotes not verified; first: claim c1 -> " + derived_id("log-2026#1", "page") + ": bytes do not hash to quote_sha256");
  CheckedRun page_of_nothing;
  cite(page_of_nothing, derived_id("x", "page"), sha256("Gauge").hex(), "x", "page");
  EXPECT_EQ(verdict_of(page_of_nothing, "quotes_verify"),
            "FAIL 1 quotes not verified; first: claim c1 -> " + derived_id("x", "page") + ": no stored bytes for chunk x");

  CheckedRun damaged;
  damaged.blobs.begin()->second[0] = 'g';
  EXPECT_EQ(verdict_of(damaged, "quotes_verify"),
            "FAIL 2 quotes not verified; first: claim c1 -> " + kFirst + ": no stored bytes for chunk log-2026#1");
}

TEST(ValidateTest, QuotesAreCheckedIfEitherSideSaysSo) {
  CheckedRun log;
  log.blobs.clear();
  const std::string claims_less = with(log.snapshot(), {{"provenance_mode", R"("audit_only")"}});
  EXPECT_THAT(message(log.check(claims_less), "quotes_verify"), HasSubstr("FAIL 3 quotes not verified"));
  CheckedRun audit = plain();
  EXPECT_EQ(message(audit.check(with(audit.snapshot(), {{"provenance_mode", R"("quotes_checked")"}})), "quotes_verify"),
            "PASS 0 quotes re-hashed from stored chunks");
}

TEST(ValidateTest, AVerifiedClaimWithoutEvidenceFailsThoughTheLogSaysSo) {
  CheckedRun log;
  log.add("CLAIM_VERIFIED", R"({"claim_id":"c2"})");
  EXPECT_EQ(show(log.check(log.snapshot())), "verified_claims_have_evidence: 1 verified claims without evidence; first: c2\n");
}

TEST(ValidateTest, AClaimDemotedInTheLedgerIsNotVerified) {
  CheckedRun log;
  log.add("CLAIM_DOWNGRADED", R"({"claim_id":"c1","reason":"r"})");
  EXPECT_EQ(message(log.check(with(log.snapshot(), {{"state.claims.0.status", R"("verified")"}})), "no_new_verified_claims"),
            "FAIL 1 verified claims without ledger warrant; first: c1 is not verified in the ledger");
}

TEST(ValidateTest, AConflictCannotTakeAClaimsName) {
  CheckedRun log;
  log.add("CONFLICT_RECORDED", fmt::format(R"({{"conflict_id":"c1","description":"d","side_a":["{}"],"side_b":["{}"]}})", kFirst, kSecond));
  EXPECT_EQ(verdict_of(log, "life_cycle_legal").substr(0, 74),
            "FAIL 1 illegal transitions; first: CONFLICT_RECORDED repeats claim c1 at e");
  EXPECT_EQ(verdict_of(log, "ids_unique"), "PASS claim, conflict and failure ids unique");
}

TEST(ValidateTest, AConflictThatLostASideKeepsBoth) {
  CheckedRun log;
  log.add("EVIDENCE_WITHDRAWN", fmt::format(R"({{"evidence_id":"{}","reason":"r"}})", kSecond));
  EXPECT_EQ(verdict_of(log, "conflicts_two_sided"), "PASS 1 conflicts, both sides cited");
  EXPECT_EQ(show(log.check(log.snapshot())), "PASS");
}

TEST(ValidateTest, ACutInsideAStepNeedsAHostBarrier) {
  CheckedRun log;
  log.compact().add("STEP_STARTED", R"({"step_id":4})").add("PLAN_DONE", R"({"step_id":4})");
  EXPECT_EQ(verdict_of(log, "event_range_contiguous"), "FAIL position 26 (PLAN_DONE) is inside step 4");
  EXPECT_EQ(verdict_of(log, "manifests_complete"), "FAIL 1 manifest problems; first: step 4 has no manifest");
  EXPECT_EQ(show(log.check(log.snapshot(Trigger::host_barrier))), "PASS");
  EXPECT_EQ(verdict_of(log, "counts_match_log", Trigger::event_threshold), "FAIL trigger is EVENT_THRESHOLD, log gives none");
}

TEST(ValidateTest, ASnapshotAttachedToAHostsBarrierIsFollowedByTheNext) {
  CheckedRun log;
  log.add("STEP_STARTED", R"({"step_id":2})");
  const std::string shown = log.snapshot(Trigger::host_barrier);
  EXPECT_EQ(show(log.check(shown)), "PASS");
  log.add("compaction", R"({"summary":"c2 is verified"})");
  const std::string target = Pointer{log.path.entries.back().digest.prefix64()}.str();
  log.add("SNAPSHOT_ATTACHED", R"({"narrative":"","narrative_max_bytes":0,"target":")" + target + R"(","snapshot":)" + shown + "}")
      .accepted(shown);
  log.add("CONTEXT_MANIFEST_WRITTEN", manifest(2)).add("OBSERVE_DONE", R"({"step_id":2})");
  const Verdict verdict = log.check(log.snapshot());
  EXPECT_EQ(show(verdict), "PASS");
  EXPECT_EQ(message(verdict, "sequence_contiguous"), "PASS sequence 2 follows 1");
  EXPECT_EQ(message(verdict, "event_range_contiguous"), "PASS positions 25..28");
  EXPECT_EQ(message(verdict, "counts_match_log"), "PASS 1 steps, 1 counted events");
}

TEST(ValidateTest, AFailedAttemptIsNoCut) {
  CheckedRun log;
  const std::string shown = log.snapshot();
  log.add("COMPACTION_FAILED", R"({"actor":"COMPACTOR","attempt":1,"cut":"ec3550762f9bca2eb","failed":[],"rejected":"sha256:)" +
                                   std::string(64, '0') + R"(","sequence":1,"trigger":"MANUAL"})");
  const std::string at_failure =
      with(shown, {{"provenance.log_digest", '"' + log.path.entries.back().digest.hex() + '"'}, {"provenance.last_pos", "24"}});
  EXPECT_EQ(show(log.check(at_failure)), "fold_reproduces_state: differs from a replay of the log; first: provenance.last_pos\n");
}

TEST(ValidateTest, EveryStepNeedsAManifestThatHashes) {
  CheckedRun log;
  log.compact().add("PLAN_DONE", R"({"step_id":3})").add("OBSERVE_DONE", R"({"step_id":3})");
  EXPECT_EQ(verdict_of(log, "manifests_complete"), "FAIL 1 manifest problems; first: step 3 has no manifest");
  log.add("CONTEXT_MANIFEST_WRITTEN", manifest(3));
  EXPECT_EQ(verdict_of(log, "manifests_complete"), "PASS 1 steps, 1 manifests");
  log.add("CONTEXT_MANIFEST_WRITTEN", manifest(3));
  EXPECT_EQ(verdict_of(log, "manifests_complete"), "PASS 1 steps, 1 manifests");
  log.add("CONTEXT_MANIFEST_WRITTEN", R"({"manifest":{},"manifest_id":"man1_no"})");
  EXPECT_EQ(verdict_of(log, "manifests_complete"), "FAIL 1 manifest problems; first: manifest man1_no does not hash to its id");
}

TEST(ValidateTest, ManifestsMayBeWaived) {
  CheckedRun log{RunPath()};
  log.add("RUN_STARTED", R"({"objective":"o","done_definition":"d","config":{"require_manifests":false}})")
      .add("PLAN_DONE", R"({"step_id":1})")
      .add("OBSERVE_DONE", R"({"step_id":1})");
  EXPECT_EQ(show(log.check(log.snapshot())), "PASS");
  EXPECT_EQ(verdict_of(log, "manifests_complete"), "PASS not required, 0 manifests");
}

TEST(ValidateTest, NothingToCompactIsSaid) {
  CheckedRun log{RunPath()};
  log.add("message", R"({"content":"be brief","role":"system"})");
  const Verdict verdict = log.check(kGaugeSnapshot);
  EXPECT_EQ(message(verdict, "fold_reproduces_state"), "FAIL no RUN_STARTED and no user message on the path");
  EXPECT_EQ(message(verdict, "objective_unchanged"), "FAIL objective differs from the first user message");
}

// ---- what the log cannot say ----

TEST(ValidateTest, WithoutASessionOnlyTheFormIsChecked) {
  LogFacts facts;
  facts.session = "gauge-9";
  facts.session_found = false;
  Candidate candidate(kGaugeSnapshot);
  const Verdict verdict = must(validate(candidate, facts));
  ASSERT_EQ(verdict.checks.size(), 25u);
  for (std::size_t i = 0; i < 25; ++i) {
    const Check& check = verdict.checks[i];
    const bool form = i == 0 || i == 1 || i == 24;
    EXPECT_EQ(check.pass, form) << check.name;
    if (!form) {
      EXPECT_EQ(check.message, "not checked: session gauge-9 not found");
    }
  }
}

TEST(ValidateTest, WithoutTheCutTheHeadServes) {
  CheckedRun log;
  LogFacts facts = log.facts();
  facts.cut_found = false;
  const std::string shown = with(kGaugeSnapshot, {{"provenance.log_digest", R"("nowhere")"}});
  Candidate candidate(shown);
  EXPECT_EQ(candidate.log_digest(), "nowhere");
  EXPECT_EQ(show(must(validate(candidate, facts))),
            "event_range_contiguous: log_digest nowhere is not an entry of this session\n"
            "fold_reproduces_state: differs from a replay of the log; first: provenance.log_digest\n");
}

TEST(ValidateTest, ALogThatCannotBeFoldedLeavesItsChecksOpen) {
  CheckedRun log;
  LogFacts facts = log.facts();
  facts.state = nullptr;
  facts.log_problems = {"digest broken at position 16", "digest broken at position 17"};
  Candidate candidate(kGaugeSnapshot);
  const Verdict verdict = must(validate(candidate, facts));
  EXPECT_EQ(message(verdict, "log_chain_intact"), "FAIL 2 log problems; first: digest broken at position 16");
  EXPECT_EQ(message(verdict, "sequence_contiguous"), "FAIL not checked: digest broken at position 16");
  EXPECT_EQ(message(verdict, "event_range_contiguous"), "FAIL not checked: digest broken at position 16");
  EXPECT_EQ(message(verdict, "ids_unique"), "PASS claim, conflict and failure ids unique");
  EXPECT_EQ(verdict.failed().size(), 16u);
}

TEST(ValidateTest, ASnapshotBeforeThatCannotBeReadIsNoFirstSnapshot) {
  CheckedRun log = two_snapshots();
  const std::string shown = log.snapshot();
  LogFacts facts = log.facts();
  facts.previous = nullptr;
  Candidate candidate(shown);
  const Verdict verdict = must(validate(candidate, facts));
  EXPECT_EQ(message(verdict, "no_silent_drop"), "FAIL not checked: snapshot 1 cannot be read");
  EXPECT_EQ(message(verdict, "deltas_match_previous"), "FAIL not checked: snapshot 1 cannot be read");
}

// ---- totality ----

// A document with something done to it: a value replaced, a member dropped or doubled under another name.
class Mutation {
 public:
  Mutation(std::mt19937& random, json::Arena& arena) : random_(random), arena_(arena) {}

  json::Value of(const json::Value& value) {
    if (roll(60) == 0) return odd();
    if (value.is_array()) {
      std::vector<json::Value> items;
      for (const json::Value& item : value.items()) {
        if (roll(25) != 0) items.push_back(of(item));
        if (roll(25) == 0) items.push_back(item);
      }
      return json::make_array(arena_, items);
    }
    if (!value.is_object()) return roll(40) == 0 ? odd() : value;
    json::ObjectBuilder out(arena_);
    for (const json::Member& member : value.members()) {
      if (roll(120) != 0) out.add(member.key, of(member.value));
      if (roll(120) == 0) out.add("quote", of(member.value));
    }
    return out.build();
  }

 private:
  int roll(int sides) { return std::uniform_int_distribution<int>(0, sides - 1)(random_); }
  json::Value odd() {
    static const std::string kLong(20000, 'x');
    static const json::Value kOdd[] = {
        nullptr,
        true,
        0,
        -1,
        1.5,
        9007199254740991,
        json::Value::big_integer("99999999999999999999"),
        "",
        "verified",
        "c1",
        std::string_view("\0\n\x1b", 3),
        kLong,
        "ev1_8b187c06c2e72a790bf7aff6054ffb39",
        "HOST_BARRIER",
        json::Value::array({}),
        json::Value::object({}),
    };
    return kOdd[roll(static_cast<int>(std::size(kOdd)))];
  }

  std::mt19937& random_;
  json::Arena& arena_;
};

TEST(ValidateTest, MutatedSnapshotsAlwaysGetAVerdict) {
  const CheckedRun log = two_snapshots();
  const LogFacts facts = log.facts();
  json::Parser parser;
  const json::Value original = must(parser.parse(log.snapshot()));
  const std::string hashed = json::canonical(hashed_form(original, parser.arena()));
  std::mt19937 random(7);
  std::size_t past_schema = 0;
  for (std::size_t i = 0; i < 6000 / testing::one_in(10); ++i) {
    json::Arena arena;
    Mutation mutation(random, arena);
    json::Value mutated = original;
    if (i % 3 == 0) {
      mutated = mutation.of(original);
    } else {
      // Most of these keep to the types, where the other checks begin.
      const std::string_view parts[] = {"state.claims.0.evidence_refs", "state.claims", "state.conflicts.0.side_b_refs", "deltas",
                                        "counts"};
      const std::string_view part = parts[random() % std::size(parts)];
      const json::Value by = mutation.of(*look_up(original, part));
      mutated = edited(original, part, &by, arena);
    }
    const std::string text = json::canonical(mutated);
    Candidate candidate(text);
    const Verdict verdict = must(validate(candidate, facts));
    past_schema += verdict.checks.size() == 25;
    ASSERT_TRUE(verdict.checks.size() == 25 || (verdict.checks.size() == 1 && !verdict.pass()));
    if (verdict.pass()) {
      ASSERT_EQ(json::canonical(hashed_form(mutated, arena)), hashed) << "only what is not hashed may differ";
    }
  }
  EXPECT_GT(past_schema, 2000u / testing::one_in(10));
}

TEST(ValidateTest, DamagedBytesAlwaysGetAVerdict) {
  CheckedRun log;
  std::mt19937 random(11);
  for (std::size_t i = 0; i < 4000 / testing::one_in(10); ++i) {
    std::string bytes(kGaugeSnapshot);
    for (std::size_t flips = 1 + random() % 3; flips > 0; --flips) bytes[random() % bytes.size()] = static_cast<char>(random());
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    const Verdict verdict = log.check(bytes);
    ASSERT_TRUE(verdict.checks.size() == 25 || (verdict.checks.size() == 1 && !verdict.pass()));
  }
}

// ---- advice ----

TEST(ValidateTest, AdviceNamesSharedQuotesAndSize) {
  CheckedRun log;
  log.add("CLAIM_PROPOSED", R"({"claim_id":"c4","statement":"s"})")
      .add("EVIDENCE_ATTACHED", fmt::format(R"({{"claim_id":"c4","evidence_id":"{}"}})", kFirst));
  Candidate candidate(log.snapshot());
  EXPECT_THAT(advice(candidate.shown(), log.path.state, 81204),
              ElementsAre("quote 5580.. is cited under 2 claims: c1, c4", "snapshot is 81204 bytes"));
  log.add("CLAIM_RETRACTED", R"({"claim_id":"c4","reason":"r"})");
  Candidate retracted(log.snapshot());
  EXPECT_THAT(advice(retracted.shown(), log.path.state, 65536), IsEmpty());
}

TEST(ValidateTest, AVerdictSaysWhatFollows) {
  json::Arena arena;
  Verdict verdict;
  EXPECT_FALSE(verdict.pass()) << "no check is no proof";
  verdict.checks = {{"a", true, "m"}, {"b", false, "n"}};
  EXPECT_EQ(json::canonical(verdict.to_json(Action::system_error, arena)),
            R"({"checks":[{"message":"m","name":"a","status":"PASS"},{"message":"n","name":"b","status":"FAIL"}],)"
            R"("failure_action_taken":"SYSTEM_ERROR","status":"FAIL"})");
}

}  // namespace
}  // namespace weir::compaction
