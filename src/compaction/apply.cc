#include "compaction/apply.h"

#include <algorithm>
#include <set>

#include "compaction/snapshot.h"
#include "json/canonical.h"

namespace weir::compaction {
namespace {

using json::Value;

bool has(const std::vector<std::string>& list, std::string_view item) { return std::find(list.begin(), list.end(), item) != list.end(); }
void add_once(std::vector<std::string>& list, const std::string& item) {
  if (!has(list, item)) list.push_back(item);
}
void drop(std::vector<std::string>& list, std::string_view item) { std::erase(list, item); }

class Applying {
 public:
  Applying(RunState& state, const Value& body, const Place& place) : state_(state), body_(body), place_(place) {}

  void run(Event event) {
    switch (event) {
      case Event::RUN_STARTED:
        return started();
      case Event::RUN_STOPPED:
        state_.stop = Stop{text("stop_reason"), text_in(body_, "limit_type").value_or("N/A"), text_in(body_, "diagnostic"), place_.pointer};
        return;
      case Event::RUN_RESUMED:
        return resumed();
      case Event::THRESHOLDS_SET:
        return set_thresholds(body_);
      case Event::STEP_STARTED:
      case Event::STEP_ABORTED:
      case Event::PLAN_DONE:
      case Event::ACT_DONE:
      case Event::OBSERVE_DONE:
        return step(event);
      case Event::PLAN_FAILED:
      case Event::ACT_FAILED:
      case Event::SNAPSHOT_ATTACHED:
        return;
      case Event::SOURCE_REGISTERED:
        if (state_.sources.find(text("source_id")) == nullptr) state_.sources.put(text("source_id"), source_in(body_));
        return;
      case Event::CHUNK_REGISTERED:
        return chunk();
      case Event::EVIDENCE_REGISTERED:
        if (state_.evidence.find(text("evidence_id")) == nullptr) state_.evidence.put(text("evidence_id"), evidence_in(body_));
        return;
      case Event::EVIDENCE_ATTACHED:
        return attached();
      case Event::EVIDENCE_DETACHED:
        return detached();
      case Event::EVIDENCE_WITHDRAWN:
        return withdrawn();
      case Event::CLAIM_PROPOSED:
      case Event::CLAIM_VERIFIED:
      case Event::CLAIM_DOWNGRADED:
      case Event::CLAIM_RETRACTED:
        return claim(event);
      case Event::CONFLICT_RECORDED:
        return conflict();
      case Event::CONFLICT_CITED:
        return cite(text("conflict_id"), text("side") == "a", text("evidence_id"));
      case Event::CONFLICT_RESOLVED:
        return state_.conflicts.update(text("conflict_id"), [&](Conflict& conflict) {
          conflict.resolved = true;
          conflict.resolution = text_in(body_, "resolution");
        });
      case Event::QUESTION_OPENED:
        state_.question_ids.set(text("question_id"), 1);
        return state_.open_questions.put_last(text("question_id"), {text("text"), place_.pointer});
      case Event::QUESTION_CLOSED:
        return state_.open_questions.erase(text("question_id"));
      case Event::FAILURE_RECORDED:
        return record_failure(state_, failure_id_in(body_), text("category"), text("where"), text("why"), step_id(), place_.pointer);
      case Event::FAILURE_RESOLVED:
        return state_.failures.update(text("failure_id"), [&](Failure& failure) {
          failure.status = text("status") == "superseded" ? FailureStatus::superseded : FailureStatus::resolved;
        });
      case Event::NEXT_ACTIONS_SET:
        state_.next_actions = std::make_shared<const NextActions>(NextActions{place_.pointer, texts_in(body_, "actions")});
        return;
      case Event::COMPACTION_FAILED:
        state_.failed = FailedAttempt{integer_in(body_, "attempt").value_or(1), text("cut")};
        return;
      case Event::CONTEXT_MANIFEST_WRITTEN:
        return manifest();
    }
  }

 private:
  std::string text(std::string_view key) const { return std::string(body_.text_or(key, "")); }
  std::int64_t step_id() const { return integer_in(body_, "step_id").value_or(state_.step_id); }

  void set_thresholds(const Value& in) {
    Thresholds& t = state_.thresholds;
    t.event_threshold = integer_in(in, "event_threshold").value_or(t.event_threshold);
    t.n_step_fallback = integer_in(in, "n_step_fallback").value_or(t.n_step_fallback);
    t.plain_bytes_threshold = integer_in(in, "plain_bytes_threshold").value_or(t.plain_bytes_threshold);
  }

  void started() {
    Run run;
    run.entry = place_.pointer;
    run.pos = place_.pos;
    run.objective = text("objective");
    run.done_definition = json::canonical(*body_.find("done_definition"));
    run.quotes_checked = text("provenance_mode") == "quotes_checked";
    run.policy_snapshot_ref = text_in(body_, "policy_snapshot_ref");
    if (const Value* budgets = body_.find("budgets"); budgets != nullptr && budgets->is_object()) run.budgets = json::canonical(*budgets);
    if (const Value* config = body_.find("config"); config != nullptr && config->is_object()) {
      set_thresholds(*config);
      const Value* require = config->find("require_manifests");
      run.require_manifests = require == nullptr || require->is_null() || require->boolean();
    }
    if (const Value* ns = body_.find("namespace")) {
      run.index_id = text_in(*ns, "index_id");
      run.corpus_id = text_in(*ns, "corpus_id");
    }
    state_.run = std::make_shared<const Run>(std::move(run));
  }

  void resumed() {
    state_.stop.reset();
    const auto forgiven = texts_in(body_, "forgive");
    if (state_.anomalies == nullptr || forgiven.empty()) return;
    std::vector<Anomaly> left;
    std::copy_if(state_.anomalies->begin(), state_.anomalies->end(), std::back_inserter(left),
                 [&](const Anomaly& anomaly) { return !has(forgiven, anomaly.entry.str()); });
    state_.anomalies = left.empty() ? nullptr : std::make_shared<const std::vector<Anomaly>>(std::move(left));
  }

  void step(Event event) {
    constexpr std::uint8_t kStep = 8;  // beside the bits of counted types: the step itself
    const std::int64_t id = step_id();
    if (id != state_.step_id) {
      state_.step_id = id;
      state_.step_types = 0;
      state_.open_step.reset();
    }
    const auto bit = counted_bit(event);
    if (bit) {
      state_.counted_entries = true;
      if ((state_.step_types & 1 << *bit) == 0) ++state_.counted;
      state_.step_types |= static_cast<std::uint8_t>(1 << *bit);
    }
    if ((bit || event == Event::STEP_STARTED) && (state_.step_types & kStep) == 0) {
      ++state_.steps;
      state_.step_types |= kStep;
      state_.step_marks.push_back({id, place_.pos});
    }
    if (event == Event::OBSERVE_DONE || event == Event::STEP_ABORTED) {
      state_.open_step.reset();
    } else if (event == Event::STEP_STARTED || !state_.open_step) {
      state_.open_step = OpenStep{id, place_.pointer};
    }
  }

  void chunk() {
    const std::string id = text("chunk_id");
    Chunk chunk = chunk_in(body_);
    if (chunk.delivered) {
      state_.chunk_ids_seen.set(id, true);
      state_.source_ids_seen.set(chunk.source_id, true);
    }
    if (state_.chunks.find(id) == nullptr) state_.chunks.put(id, std::move(chunk));
  }

  bool is_withdrawn(const std::string& evidence) const { return state_.withdrawn.find(evidence) != nullptr; }

  void attached() {
    const std::string evidence = text("evidence_id");
    state_.claims.update(text("claim_id"),
                         [&](Claim& claim) { add_once(is_withdrawn(evidence) ? claim.withdrawn : claim.refs, evidence); });
    add_once(state_.citing[evidence].claims, text("claim_id"));
  }

  static void demote_without_evidence(Claim& claim, std::string_view reason) {
    if (claim.status != ClaimStatus::verified || !claim.refs.empty()) return;
    claim.status = ClaimStatus::candidate;
    claim.status_reason = reason;
  }

  void detached() {
    const std::string evidence = text("evidence_id");
    state_.claims.update(text("claim_id"), [&](Claim& claim) {
      drop(claim.refs, evidence);
      drop(claim.withdrawn, evidence);
      demote_without_evidence(claim, "evidence_detached");
    });
    drop(state_.citing[evidence].claims, text("claim_id"));
  }

  void withdrawn() {
    const std::string evidence = text("evidence_id");
    if (is_withdrawn(evidence)) return;
    state_.withdrawn.put(evidence, true);
    const Citing* citing = state_.citing.find(evidence);
    if (citing == nullptr) return;
    for (const std::string& id : citing->claims) {
      state_.claims.update(id, [&](Claim& claim) {
        drop(claim.refs, evidence);
        add_once(claim.withdrawn, evidence);
        demote_without_evidence(claim, "evidence_withdrawn");
      });
    }
    for (const std::string& id : citing->conflicts) resolve_if_withdrawn(id);
  }

  void resolve_if_withdrawn(const std::string& id) {
    const Conflict& conflict = *state_.conflicts.find(id);
    const auto gone = [&](const std::vector<std::string>& side) {
      return !side.empty() && std::all_of(side.begin(), side.end(), [&](const std::string& evidence) { return is_withdrawn(evidence); });
    };
    if (conflict.resolved || (!gone(conflict.side_a) && !gone(conflict.side_b))) return;
    state_.conflicts.update(id, [](Conflict& c) {
      c.resolved = true;
      c.resolution = "evidence_withdrawn";
    });
  }

  void claim(Event event) {
    Claim next;
    if (const Claim* there = state_.claims.find(text("claim_id"))) next = *there;
    const std::string reason = text("reason");
    switch (event) {
      case Event::CLAIM_PROPOSED:
        next.statement = text("statement");
        next.status_reason = "proposed";
        next.first_entry = place_.pointer;
        break;
      case Event::CLAIM_VERIFIED:
        next.status = ClaimStatus::verified;
        next.status_reason = "verified";
        next.verified_entry = place_.pointer;
        break;
      case Event::CLAIM_DOWNGRADED:
        next.status = ClaimStatus::candidate;
        next.status_reason = reason.empty() ? "downgraded" : reason;
        break;
      default:
        next.status = ClaimStatus::retracted;
        next.status_reason = reason.empty() ? "retracted" : reason;
    }
    state_.claims.put(text("claim_id"), std::move(next));
  }

  void cite(const std::string& id, bool side_a, const std::string& evidence) {
    state_.conflicts.update(id, [&](Conflict& conflict) { add_once(side_a ? conflict.side_a : conflict.side_b, evidence); });
    add_once(state_.citing[evidence].conflicts, id);
  }

  void conflict() {
    const std::string id = text("conflict_id");
    state_.conflicts.put(id, {text("description"), {}, {}, false, std::nullopt, place_.pointer});
    for (const std::string& evidence : texts_in(body_, "side_a")) cite(id, true, evidence);
    for (const std::string& evidence : texts_in(body_, "side_b")) cite(id, false, evidence);
  }

  void manifest() {
    const Value& manifest = *body_.find("manifest");
    const std::string id = text("manifest_id");
    state_.manifests.push_back({id, place_.pos, derive_manifest_id(manifest) == id});
    state_.steps_with_manifest.set(std::to_string(step_id()), 1);
    for (const std::string& source : texts_in(manifest, "selected_source_ids")) state_.source_ids_seen.set(source, true);
    const auto selected = texts_in(manifest, "selected_chunk_ids");
    for (const std::string& chunk : selected) state_.chunk_ids_seen.set(chunk, true);
    Retrieval& sum = state_.retrieval;
    if (sum.ids.find(id)) return;
    sum.ids.set(id, 1);
    const auto candidates = texts_in(manifest, "candidate_chunk_ids");
    const bool asked = text_in(manifest, "retrieval_query").has_value();
    sum.queries += asked;
    sum.zero_result_queries += asked && candidates.empty();
    sum.candidates += static_cast<std::int64_t>(candidates.size());
    sum.selected += static_cast<std::int64_t>(selected.size());
    const std::set<std::string_view> chosen(selected.begin(), selected.end());
    sum.excluded += std::count_if(candidates.begin(), candidates.end(), [&](const std::string& c) { return !chosen.contains(c); });
    for (const std::string& filter : texts_in(manifest, "filters")) sum.filters.set(filter, true);
  }

  RunState& state_;
  const Value& body_;
  const Place& place_;
};

}  // namespace

void apply(RunState& state, Event event, const Value& body, const Place& place) { Applying(state, body, place).run(event); }

void record_failure(RunState& state, const std::string& id, std::string_view category, std::string_view where, std::string_view why,
                    std::int64_t step_id, Pointer entry) {
  const Failure* there = state.failures.find(id);
  Failure failure = there != nullptr ? *there : Failure{std::string(category), std::string(where), std::string(why)};
  if (there == nullptr) failure.first_entry = entry;
  failure.status = FailureStatus::active;
  ++failure.occurrence_count;
  failure.last_seen_step_id = step_id;
  failure.last_entry = entry;
  state.failures.put(id, std::move(failure));
}

}  // namespace weir::compaction
