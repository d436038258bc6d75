#include "testing/run_path.h"

#include "json/canonical.h"
#include "json/parse.h"
#include "testing/rows.h"

namespace weir::testing {

RunPath& RunPath::add(std::string_view type, std::string_view body, std::string id) {
  json::Parser parser;
  auto parsed = parser.parse(body);
  WEIR_CHECK(parsed.ok());
  Entry entry = make_row(entries.size() + 1, entries.empty() ? nullptr : &entries.back(), type, json::canonical(*parsed), id);
  WEIR_CHECK(compaction::RunFold::step(state, entry).ok());
  entries.push_back(std::move(entry));
  return *this;
}

json::Value RunPath::build(json::Arena& arena, compaction::Trigger trigger, const json::Value* previous) const {
  static const std::vector<compaction::Pin> none;
  return compaction::build({state, entries.back().digest, none, previous, trigger}, arena);
}

RunPath gauge_example() {
  RunPath path;
  path.add("message", R"json({"content":"Never edit the raw logs.","role":"system"})json");
  path.add(
      "RUN_STARTED",
      R"json({"budgets":{"max_steps":12},"config":{"event_threshold":3,"n_step_fallback":8},"done_definition":{"every_reading_judged":true},"namespace":{"index_id":"river@1"},"objective":"Which readings of gauge_7 can be trusted?","policy_snapshot_ref":null,"provenance_mode":"quotes_checked"})json");
  path.add("message", R"json({"content":"Check gauge 7 before the flood season.\n## Report only what the logs show.","role":"user"})json");
  path.add("STEP_STARTED", R"json({"step_id":1})json");
  path.add(
      "SOURCE_REGISTERED",
      R"json({"blob":"sha256:0f8a57840a80eb4c55e39bda85c74b8b5f582a3a5e231cec7ee42d6f42fcf510","bytes":113,"sha256":"0f8a57840a80eb4c55e39bda85c74b8b5f582a3a5e231cec7ee42d6f42fcf510","source_id":"log-2026","title":"Station log 2026","uri":null})json");
  path.add(
      "CHUNK_REGISTERED",
      R"json({"blob":null,"bytes":55,"chunk_id":"log-2026#1","delivered":false,"sha256":"55805405c78e7fe61616c984048dd6faac363a18eddf09565eaafd398934199f","source_id":"log-2026","span":{"end":55,"start":0,"unit":"utf8"}})json");
  path.add(
      "CHUNK_REGISTERED",
      R"json({"blob":null,"bytes":56,"chunk_id":"log-2026#2","delivered":false,"sha256":"bde12de2f9e4ea0c8f4c8049722ba1a6682354b0225c3bd059551251d458d6cf","source_id":"log-2026","span":{"end":112,"start":56,"unit":"utf8"}})json");
  path.add(
      "CONTEXT_MANIFEST_WRITTEN",
      R"json({"manifest":{"candidate_chunk_ids":["log-2026#1","log-2026#2","log-2026#3"],"filters":["year:2026"],"retrieval_query":"gauge 7","selected_chunk_ids":["log-2026#1","log-2026#2"],"selected_source_ids":["log-2026"],"snapshot_id":null,"step_id":1,"thresholds":{"event_threshold":3,"n_step_fallback":8,"plain_bytes_threshold":0}},"manifest_id":"man1_62672beac06f74e66816706838aa5e33","step_id":1})json");
  path.add("PLAN_DONE", R"json({"step_id":1})json");
  path.add(
      "message",
      R"json({"content":"","role":"assistant","tool_calls":[{"arguments":{"command":"./replay.sh 7"},"id":"t1","name":"bash"},{"arguments":{"content":"Gauge 7 reads high.\n","path":"notes.md"},"id":"t2","name":"write"}]})json");
  path.add("message", R"json({"content":"replay.sh: no such station","is_error":true,"role":"tool","tool_call_id":"t1"})json");
  path.add("message", R"json({"content":"ok","is_error":false,"role":"tool","tool_call_id":"t2"})json");
  path.add("ACT_DONE", R"json({"step_id":1})json");
  path.add(
      "EVIDENCE_REGISTERED",
      R"json({"chunk_id":"log-2026#1","corpus_id":null,"evidence_id":"ev1_8b187c06c2e72a790bf7aff6054ffb39","index_id":"river@1","quote_bytes":55,"quote_sha256":"55805405c78e7fe61616c984048dd6faac363a18eddf09565eaafd398934199f","source_id":"log-2026","span":{"end":55,"start":0,"unit":"utf8"}})json");
  path.add(
      "EVIDENCE_REGISTERED",
      R"json({"chunk_id":"log-2026#2","corpus_id":null,"evidence_id":"ev1_7319bd1d99523a4d82f3daa1e00876c8","index_id":"river@1","quote_bytes":56,"quote_sha256":"bde12de2f9e4ea0c8f4c8049722ba1a6682354b0225c3bd059551251d458d6cf","source_id":"log-2026","span":{"end":56,"start":0,"unit":"utf8"}})json");
  path.add("CLAIM_PROPOSED", R"json({"claim_id":"c1","statement":"gauge_7 reads 4 cm high in dry weather"})json");
  path.add("EVIDENCE_ATTACHED", R"json({"claim_id":"c1","evidence_id":"ev1_8b187c06c2e72a790bf7aff6054ffb39"})json");
  path.add("CLAIM_VERIFIED", R"json({"claim_id":"c1"})json");
  path.add("CLAIM_PROPOSED", R"json({"claim_id":"c2","statement":"The error comes from the float"})json");
  path.add(
      "CONFLICT_RECORDED",
      R"json({"conflict_id":"k1","description":"Offset #1: constant or not?","side_a":["ev1_8b187c06c2e72a790bf7aff6054ffb39"],"side_b":["ev1_7319bd1d99523a4d82f3daa1e00876c8"]})json");
  path.add("QUESTION_OPENED", R"json({"question_id":"q1","text":"Was the staff moved on 3 May?"})json");
  path.add("NEXT_ACTIONS_SET", R"json({"actions":["Ask for the maintenance book"]})json");
  path.add("OBSERVE_DONE", R"json({"step_id":1})json");
  return path;
}

}  // namespace weir::testing
