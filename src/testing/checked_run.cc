#include "testing/checked_run.h"

#include "json/canonical.h"
#include "testing/results.h"

namespace weir::testing {

using compaction::LogFacts;
using compaction::RunState;

const std::string_view kGaugeSource =
    "Gauge 7 read 4 cm above the staff on all nine dry days.\nOn 3 May gauge 7 and the staff agreed to the millimetre.\n";

const std::string_view kGaugeSnapshot =
    R"gauge({"schema_version":1, "snapshot_id":"snap1_42ac2334deb41027728c576a4bfdfd20", "run_id":"gauge-7", "sequence":1, "created_at":"2026-01-02T03:05:00.000Z", "previous_snapshot_id":null, "objective":"Which readings of gauge_7 can be trusted?",
 "objective_source":{"kind":"declared","entry":"e595ac494509aac20","cut":false}, "done_definition":{"every_reading_judged":true}, "provenance_mode":"quotes_checked", "policy_snapshot_ref":null, "budgets":{"max_steps":12},
 "counts":{"steps_since_last_compaction":1,"counted_events_since_last_compaction":3}, "latest_context_manifest_ids":["man1_62672beac06f74e66816706838aa5e33"],
 "state":{"claims":[{"claim_id":"c1", "status":"verified", "status_reason":"verified", "statement":"gauge_7 reads 4 cm high in dry weather", "evidence_refs":[{"evidence_id":"ev1_8b187c06c2e72a790bf7aff6054ffb39","chunk_id":"log-2026#1","span":{"unit":"utf8","start":0,"end":55}}], "withdrawn_refs":[],
    "first_entry":"effd942676355d881", "verified_entry":"e6aa1108ea96d6f0a"},
   {"claim_id":"c2","status":"candidate","status_reason":"proposed","statement":"The error comes from the float","evidence_refs":[],"withdrawn_refs":[],"first_entry":"e49f9c2788c4d40e2","verified_entry":null}],
  "conflicts":[{"conflict_id":"k1", "description":"Offset #1: constant or not?", "status":"open", "resolution":null, "side_a_refs":[{"evidence_id":"ev1_8b187c06c2e72a790bf7aff6054ffb39","chunk_id":"log-2026#1","span":{"unit":"utf8","start":0,"end":55}}],
    "side_b_refs":[{"evidence_id":"ev1_7319bd1d99523a4d82f3daa1e00876c8","chunk_id":"log-2026#2","span":{"unit":"utf8","start":0,"end":56}}], "first_entry":"e70b8e23d11e0f53f"}],
  "open_questions":["Was the staff moved on 3 May?"], "open_question_refs":[{"question_id":"q1","entry":"eefceb9060d17f0f4"}],
  "failures":[{"failure_id":"fail1_3abe8a7fabb63de27bf0c25012653dec","category":"tool_error","where":"bash: ./replay.sh 7","why":"replay.sh: no such station","status":"active","occurrence_count":1,"last_seen_step_id":1,"first_entry":"e84c600e596616462","last_entry":"e84c600e596616462"}],
  "next_actions":["Ask for the maintenance book"], "next_actions_entry":"e00e3d48dcf30a42a", "source_coverage":{"source_ids_seen":["log-2026"],"chunk_ids_seen":["log-2026#1","log-2026#2"],"chunk_ids_cited":["log-2026#1","log-2026#2"]},
  "carry":{"latest_request":{"entry":"e8f0c55f258c89eeb","bytes":73,"verbatim":"Check gauge 7 before the flood season.\n## Report only what the logs show.","answered":true}, "requests":[], "requests_omitted":0, "last_reply":null,
   "pinned":[{"entry":"edc024a95486afdf1","role":"system","reason":"system","bytes":24,"verbatim":"Never edit the raw logs."}],
   "files":[{"path":"notes.md","reads":0,"changes":1,"last_read":null,"last_change":"eb8ee481dd20cb228","sha256":"04ebc6c1cf5afe47cc667acddc2943406b080bab23bdbb0f81a25d219f3aed6a"}],
   "commands":[{"tool":"bash","command":"./replay.sh 7","bytes":13,"runs":1,"errors":1,"last_entry":"e84c600e596616462"}], "commands_omitted":0, "todos":null, "pending_calls":[]}},
 "retrieval_diagnostics":{"queries":1,"zero_result_queries":0,"candidates":3,"selected":2,"excluded":1,"filters":["year:2026"],"manifest_ids":["man1_62672beac06f74e66816706838aa5e33"]},
 "deltas":{"claims_added":["c1","c2"], "claims_newly_verified":["c1"], "claims_demoted":[], "claims_retracted":[], "conflicts_added":["k1"], "conflicts_resolved":[], "failures_added":["fail1_3abe8a7fabb63de27bf0c25012653dec"], "questions_opened":["Was the staff moved on 3 May?"],
  "questions_closed":[], "files_changed":["notes.md"], "sources_added":1, "chunks_cited_added":2},
 "provenance":{"first_pos":1, "last_pos":23, "first_entry":"edc024a95486afdf1", "last_entry":"ec3550762f9bca2eb", "log_digest":"c3550762f9bca2ebb7ffd2b7d1354b4e0c4a07068c4daa8a764548a250d59caf", "ledger_digest":"0ad263b981c9daf6650944205de907b430f3858760e9aa43623b8daf097f01c4",
  "trigger":"EVENT_THRESHOLD", "thresholds":{"event_threshold":3,"n_step_fallback":8,"plain_bytes_threshold":0}, "compactor_version":"weir.snapshot/1", "located":{"first_seq":1,"first_id":"edc024a95","last_seq":23,"last_id":"ec3550762"}},
 "validation":{"status":"PASS",
  "checks":[{"name":"schema_keys_and_types","status":"PASS","message":"all required keys present with declared types"}, {"name":"snapshot_id_deterministic","status":"PASS","message":"snapshot_id matches content"}, {"name":"sequence_contiguous","status":"PASS","message":"sequence 1 follows 0"}, {"name":"run_id_stable","status":"PASS","message":"run_id is the session"},
   {"name":"objective_unchanged","status":"PASS","message":"objective identical to RUN_STARTED"}, {"name":"done_definition_unchanged","status":"PASS","message":"done_definition identical to RUN_STARTED"}, {"name":"log_chain_intact","status":"PASS","message":"23 entries, chain intact"}, {"name":"event_range_contiguous","status":"PASS","message":"positions 1..23"},
   {"name":"counts_match_log","status":"PASS","message":"1 steps, 3 counted events"}, {"name":"ledger_consistent","status":"PASS","message":"2 evidence records, 0 withdrawn"}, {"name":"life_cycle_legal","status":"PASS","message":"no illegal transition"}, {"name":"ids_unique","status":"PASS","message":"claim, conflict and failure ids unique"},
   {"name":"evidence_pointers_well_formed","status":"PASS","message":"3 pointers well formed"}, {"name":"evidence_pointers_resolve","status":"PASS","message":"3 pointers resolve in the ledger"}, {"name":"evidence_ids_deterministic","status":"PASS","message":"2 cited evidence ids recomputed"}, {"name":"quotes_verify","status":"PASS","message":"3 quotes re-hashed from stored chunks"},
   {"name":"verified_claims_have_evidence","status":"PASS","message":"1 verified claims, each with at least 1 pointer"}, {"name":"no_new_verified_claims","status":"PASS","message":"1 verified claims warranted by the ledger"}, {"name":"conflicts_two_sided","status":"PASS","message":"1 conflicts, both sides cited"}, {"name":"no_silent_drop","status":"PASS","message":"first snapshot on this path"},
   {"name":"fold_reproduces_state","status":"PASS","message":"replay to position 23 gives this snapshot"}, {"name":"coverage_consistent","status":"PASS","message":"1 sources seen, 2 chunks seen, 2 cited"}, {"name":"manifests_complete","status":"PASS","message":"1 steps, 1 manifests"}, {"name":"deltas_match_previous","status":"PASS","message":"deltas recomputed"},
   {"name":"pointers_only","status":"PASS","message":"no string over 16384 bytes, no raw-content key"}],
  "failure_action_taken":"NONE"}}
)gauge";

CheckedRun::CheckedRun(RunPath start) : path(std::move(start)) { blobs["sha256:" + sha256(kGaugeSource).hex()] = kGaugeSource; }

LogFacts CheckedRun::facts() const {
  LogFacts out;
  out.session = "gauge-7";
  out.entries = path.entries.size();
  out.cut = path.entries.back().digest;
  out.cut_type = path.entries.back().type;
  out.state = std::make_shared<const RunState>(path.state);
  out.previous = previous.get();
  out.chunk_bytes = [this](const RunState& at, const std::string& id) { return chunk_bytes(at, id); };
  return out;
}

std::optional<std::string> CheckedRun::chunk_bytes(const RunState& at, const std::string& id) const {
  ++chunks_read;
  const compaction::Chunk* chunk = at.chunks.find(id);
  const compaction::Source* source = chunk == nullptr ? nullptr : at.sources.find(chunk->source_id);
  const auto blob = source == nullptr ? blobs.end() : blobs.find(source->blob.value_or(""));
  if (blob == blobs.end()) return std::nullopt;
  const auto start = static_cast<std::size_t>(chunk->span.start), end = static_cast<std::size_t>(chunk->span.end);
  if (end > blob->second.size() || sha256(blob->second.substr(start, end - start)).hex() != chunk->sha256) return std::nullopt;
  return blob->second.substr(start, end - start);
}

std::string CheckedRun::snapshot(compaction::Trigger trigger) const {
  json::Arena arena;
  const json::Value hashed = path.build(arena, trigger, previous.get());
  const json::Value validation = compaction::Verdict{}.to_json(compaction::Action::none, arena);
  const json::Value stored = compaction::stored_form(hashed, compaction::snapshot_id(hashed), validation, arena);
  const compaction::ShownOnly shown{"gauge-7", "2026-01-02T03:05:00.000Z", compaction::first_place(path.state), *path.state.cut};
  return json::canonical(compaction::shown_form(stored, shown, arena));
}

CheckedRun& CheckedRun::compact(compaction::Trigger trigger) {
  const std::string shown = snapshot(trigger);
  add("compaction", R"({"narrative":"","narrative_max_bytes":0,"snapshot":)" + shown + "}");
  return accepted(shown);
}

CheckedRun& CheckedRun::accepted(std::string_view shown) {
  parser_ = std::make_shared<json::Parser>();
  previous = std::make_shared<json::Value>(must(parser_->parse(shown)));
  return *this;
}

compaction::Verdict CheckedRun::check(std::string_view shown) const {
  compaction::Candidate candidate(shown);
  return must(compaction::validate(candidate, facts()));
}

}  // namespace weir::testing
