#include "compaction/event_rules.h"

#include <algorithm>

namespace weir::compaction {
namespace {

using json::Value;
using Why = Illegal::Why;

class Rules {
 public:
  Rules(const RunState& state, Event event, const Value& body) : state_(state), event_(event), body_(body) {}

  std::optional<Illegal> check() const {
    if (state_.stop && event_ != Event::RUN_RESUMED) return Illegal{Why::stopped, type() + " after RUN_STOPPED"};
    if (is_step_event(event_)) {
      const std::int64_t step = integer_in(body_, "step_id").value_or(state_.step_id);
      if (step < state_.step_id) return no(type() + " has step_id " + std::to_string(step) + " after " + std::to_string(state_.step_id));
    }
    switch (event_) {
      case Event::RUN_STARTED:
        return started();
      case Event::RUN_RESUMED:
        return resumed();
      case Event::CLAIM_PROPOSED:
        return free_id("claim_id");
      case Event::CLAIM_VERIFIED:
      case Event::CLAIM_RETRACTED:
        return claim();
      case Event::CLAIM_DOWNGRADED:
        return downgraded();
      case Event::EVIDENCE_ATTACHED:
        return first_of(claim(), known_evidence("evidence_id"));
      case Event::EVIDENCE_DETACHED:
        return detached();
      case Event::EVIDENCE_WITHDRAWN:
        return known_evidence("evidence_id");
      case Event::SOURCE_REGISTERED:
        return source();
      case Event::CHUNK_REGISTERED:
        return chunk();
      case Event::EVIDENCE_REGISTERED:
        return evidence();
      case Event::CONFLICT_RECORDED:
        return conflict();
      case Event::CONFLICT_CITED:
        return first_of(known_conflict(), known_evidence("evidence_id"));
      case Event::CONFLICT_RESOLVED:
        return known_conflict();
      case Event::QUESTION_OPENED:
        return open_question() ? no("QUESTION_OPENED repeats open question " + text("question_id")) : std::nullopt;
      case Event::QUESTION_CLOSED:
        return closed();
      case Event::FAILURE_RESOLVED:
        return state_.failures.find(id("failure_id")) != nullptr ? std::nullopt : unknown("failure", text("failure_id"));
      case Event::SNAPSHOT_ATTACHED:
        return attached();
      default:
        return std::nullopt;
    }
  }

 private:
  std::string type() const { return std::string(event_name(event_)); }
  std::string_view id(std::string_view key) const { return body_.text_or(key, ""); }
  std::string text(std::string_view key) const { return std::string(id(key)); }
  static std::optional<Illegal> no(std::string text) { return Illegal{Why::transition, std::move(text)}; }
  static std::optional<Illegal> first_of(std::optional<Illegal> a, std::optional<Illegal> b) { return a ? std::move(a) : std::move(b); }
  std::optional<Illegal> unknown(const std::string& what, const std::string& id) const {
    return no(type() + " names unknown " + what + " " + id);
  }
  bool open_question() const { return state_.open_questions.find(id("question_id")) != nullptr; }

  std::optional<Illegal> started() const {
    if (state_.run != nullptr) return no("second RUN_STARTED");
    if (const Accepted* last = state_.last_accepted()) return no("RUN_STARTED after snapshot " + std::to_string(last->sequence));
    return std::nullopt;
  }
  std::optional<Illegal> resumed() const {
    if (state_.stop && id("actor") == "HUMAN") return std::nullopt;
    return no("RUN_RESUMED without a stop or not by a human");
  }

  // Claims, conflicts and failures have one set of ids: two of one id could never be told apart in a snapshot.
  std::optional<Illegal> free_id(std::string_view key) const {
    if (state_.claims.find(id(key)) != nullptr) return no(type() + " repeats claim " + text(key));
    if (state_.conflicts.find(id(key)) != nullptr) return no(type() + " repeats conflict " + text(key));
    if (state_.failures.find(id(key)) != nullptr) return no(type() + " repeats failure " + text(key));
    return std::nullopt;
  }
  std::optional<Illegal> attached() const {
    if (!state_.bare_barrier || state_.bare_barrier->pointer.str() != id("target"))
      return Illegal{Why::malformed, type() + " malformed: target"};
    // The barrier's snapshot would have another objective than the run that began behind it.
    if (state_.run != nullptr && state_.run->pos > state_.bare_barrier->pos) return no("SNAPSHOT_ATTACHED before RUN_STARTED");
    return std::nullopt;
  }
  std::optional<Illegal> claim() const {
    const Claim* found = state_.claims.find(id("claim_id"));
    if (found == nullptr) return unknown("claim", text("claim_id"));
    if (found->status == ClaimStatus::retracted) return no(type() + " on retracted claim " + text("claim_id"));
    return std::nullopt;
  }
  std::optional<Illegal> downgraded() const {
    if (auto wrong = claim()) return wrong;
    if (state_.claims.find(id("claim_id"))->status == ClaimStatus::candidate)
      return no("CLAIM_DOWNGRADED on candidate claim " + text("claim_id"));
    return std::nullopt;
  }

  std::optional<Illegal> known_evidence(std::string_view key) const {
    return state_.evidence.find(id(key)) != nullptr ? std::nullopt : unknown("evidence", text(key));
  }
  std::optional<Illegal> known_evidence(const Value* list) const {
    if (list == nullptr) return std::nullopt;
    for (const Value& item : list->items()) {
      if (state_.evidence.find(item.text()) == nullptr) return unknown("evidence", std::string(item.text()));
    }
    return std::nullopt;
  }
  std::optional<Illegal> detached() const {
    if (auto wrong = first_of(claim(), known_evidence("evidence_id"))) return wrong;
    const Claim& record = *state_.claims.find(id("claim_id"));
    const auto has = [&](const std::vector<std::string>& list) {
      return std::find(list.begin(), list.end(), id("evidence_id")) != list.end();
    };
    if (has(record.refs) || has(record.withdrawn)) return std::nullopt;
    return no("EVIDENCE_DETACHED names evidence not attached to " + text("claim_id"));
  }

  static std::optional<Illegal> twice(std::string_view what, const std::string& id) {
    return Illegal{Why::ledger, std::string(what) + " " + id + " registered twice with different content"};
  }
  std::optional<Illegal> source() const {
    const Source* there = state_.sources.find(id("source_id"));
    return there == nullptr || *there == source_in(body_) ? std::nullopt : twice("source", text("source_id"));
  }
  std::optional<Illegal> chunk() const {
    if (state_.sources.find(id("source_id")) == nullptr) return unknown("source", text("source_id"));
    const Chunk* there = state_.chunks.find(id("chunk_id"));
    if (there == nullptr) return std::nullopt;
    Chunk again = chunk_in(body_);
    again.delivered = there->delivered;  // being shown is no content
    return *there == again ? std::nullopt : twice("chunk", text("chunk_id"));
  }
  std::optional<Illegal> evidence() const {
    const Evidence* there = state_.evidence.find(id("evidence_id"));
    if (there != nullptr && *there != evidence_in(body_)) return twice("evidence", text("evidence_id"));
    const Chunk* chunk = state_.chunks.find(id("chunk_id"));
    if (there != nullptr || chunk == nullptr || chunk->source_id == id("source_id")) return std::nullopt;
    return Illegal{Why::ledger,
                   "evidence " + text("evidence_id") + " names source " + text("source_id") + ", chunk " + text("chunk_id") + " is of " +
                       chunk->source_id,
                   true};
  }

  std::optional<Illegal> known_conflict() const {
    return state_.conflicts.find(id("conflict_id")) != nullptr ? std::nullopt : unknown("conflict", text("conflict_id"));
  }
  std::optional<Illegal> conflict() const {
    if (auto taken = free_id("conflict_id")) return taken;
    return first_of(known_evidence(body_.find("side_a")), known_evidence(body_.find("side_b")));
  }

  std::optional<Illegal> closed() const {
    if (!open_question()) return no("QUESTION_CLOSED names no open question " + text("question_id"));
    if (!id("answer_claim_id").empty() && state_.claims.find(id("answer_claim_id")) == nullptr)
      return unknown("claim", text("answer_claim_id"));
    return std::nullopt;
  }

  const RunState& state_;
  const Event event_;
  const Value& body_;
};

constexpr std::string_view kWillFail = ": the next compaction will fail";

void warn_unseen(const RunState& state, const std::string& evidence_id, std::vector<std::string>& out) {
  const Evidence* evidence = state.evidence.find(evidence_id);
  if (evidence == nullptr || state.chunk_ids_seen.find(evidence->chunk_id) != nullptr) return;
  out.push_back("chunk " + evidence->chunk_id + " is cited but was never seen" + std::string(kWillFail));
}

}  // namespace

std::optional<Illegal> illegal(const RunState& state, Event event, const Value& body, bool shape_known) {
  if (!shape_known) {
    const auto wrong = wrong_fields(event, body, true);
    if (!wrong.empty()) return Illegal{Why::malformed, std::string(event_name(event)) + " malformed: " + wrong.front().field};
  }
  return Rules(state, event, body).check();
}

std::vector<std::string> warnings(const RunState& after, Event event, const Value& body) {
  std::vector<std::string> out;
  const std::string_view claim_id = body.text_or("claim_id", ""), conflict_id = body.text_or("conflict_id", "");
  if (event == Event::CLAIM_VERIFIED) {
    const Claim* claim = after.claims.find(claim_id);
    if (claim != nullptr && claim->refs.empty())
      out.push_back("claim " + std::string(claim_id) + " is verified without evidence" + std::string(kWillFail));
  }
  if (event == Event::OBSERVE_DONE && after.run != nullptr && after.run->require_manifests &&
      !after.steps_with_manifest.find(std::to_string(after.step_id)))
    out.push_back("step " + std::to_string(after.step_id) + " has no manifest" + std::string(kWillFail));
  const Conflict* conflict = after.conflicts.find(conflict_id);
  if (event == Event::CONFLICT_RECORDED || event == Event::CONFLICT_CITED) {
    const auto on_both = [&](const std::string& id) {
      return std::find(conflict->side_b.begin(), conflict->side_b.end(), id) != conflict->side_b.end();
    };
    if (conflict != nullptr && std::any_of(conflict->side_a.begin(), conflict->side_a.end(), on_both))
      out.push_back("conflict " + std::string(conflict_id) + " cites the same evidence on both sides" + std::string(kWillFail));
    if (conflict != nullptr && (conflict->side_a.empty() || conflict->side_b.empty()))
      out.push_back("conflict " + std::string(conflict_id) + " has an empty side" + std::string(kWillFail));
    for (const std::string& id : texts_in(body, "side_a")) warn_unseen(after, id, out);
    for (const std::string& id : texts_in(body, "side_b")) warn_unseen(after, id, out);
  }
  if (event == Event::EVIDENCE_ATTACHED || event == Event::CONFLICT_CITED)
    warn_unseen(after, std::string(body.text_or("evidence_id", "")), out);
  return out;
}

}  // namespace weir::compaction
