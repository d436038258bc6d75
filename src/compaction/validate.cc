#include "compaction/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "compaction/checks.h"
#include "compaction/snapshot.h"

namespace weir::compaction {
namespace {

constexpr std::size_t kLargeSnapshotBytes = 65536;  // worth a word: a reader of the log carries it
constexpr std::size_t kClaimsTold = 8;              // of those that lean on one quote

// What must be there for a check to be more than a guess.
enum class Needs { nothing, session, state };

struct Row {
  std::string_view name;
  Needs needs;
  Outcome (*check)(const Examined&);
};

// Behind check 1, in the order of the verdict.
constexpr std::string_view kSchema = "schema_keys_and_types";
constexpr Row kRows[] = {
    {"snapshot_id_deterministic", Needs::nothing, snapshot_id_deterministic},
    {"sequence_contiguous", Needs::state, sequence_contiguous},
    {"run_id_stable", Needs::session, run_id_stable},
    {"objective_unchanged", Needs::state, objective_unchanged},
    {"done_definition_unchanged", Needs::state, done_definition_unchanged},
    {"log_chain_intact", Needs::session, log_chain_intact},
    {"event_range_contiguous", Needs::session, event_range_contiguous},
    {"counts_match_log", Needs::state, counts_match_log},
    {"ledger_consistent", Needs::state, ledger_consistent},
    {"life_cycle_legal", Needs::state, life_cycle_legal},
    {"ids_unique", Needs::session, ids_unique},
    {"evidence_pointers_well_formed", Needs::session, evidence_pointers_well_formed},
    {"evidence_pointers_resolve", Needs::state, evidence_pointers_resolve},
    {"evidence_ids_deterministic", Needs::state, evidence_ids_deterministic},
    {"quotes_verify", Needs::state, quotes_verify},
    {"verified_claims_have_evidence", Needs::session, verified_claims_have_evidence},
    {"no_new_verified_claims", Needs::state, no_new_verified_claims},
    {"conflicts_two_sided", Needs::session, conflicts_two_sided},
    {"no_silent_drop", Needs::state, no_silent_drop},
    {"fold_reproduces_state", Needs::state, fold_reproduces_state},
    {"coverage_consistent", Needs::session, coverage_consistent},
    {"manifests_complete", Needs::state, manifests_complete},
    {"deltas_match_previous", Needs::state, deltas_match_previous},
    {"pointers_only", Needs::nothing, pointers_only},
};

// A pointer as far as it is one: {"evidence_id","chunk_id","span":{"unit","start","end"}} and nothing more.
Cited read_pointer(const json::Value& value) {
  Cited out;
  out.evidence_id = value.text_or("evidence_id", "");
  out.chunk_id = value.text_or("chunk_id", "");
  const json::Value &span = member(value, "span"), &start = member(span, "start"), &end = member(span, "end");
  out.span = {std::string(span.text_or("unit", "")), start.is_integer() ? start.integer() : 0, end.is_integer() ? end.integer() : 0};
  out.well_formed = !out.evidence_id.empty() && !out.chunk_id.empty() && value.members().size() == 3 && !out.span.unit.empty() &&
                    start.is_integer() && end.is_integer() && span.members().size() == 3 && out.span.start >= 0 &&
                    out.span.start < out.span.end;
  return out;
}

class Pointers {
 public:
  explicit Pointers(const RunState* state) : state_(state) {}

  void add(const json::Value& refs, Cited::Where where, std::string_view owner) {
    for (const json::Value& value : refs.items()) {
      Cited pointer = read_pointer(value);
      pointer.where = where;
      pointer.owner = owner;
      if (state_ != nullptr) {
        pointer.record = state_->evidence.find(pointer.evidence_id);
        pointer.withdrawn = state_->withdrawn.find(pointer.evidence_id) != nullptr;
      }
      out.push_back(std::move(pointer));
    }
  }

  std::vector<Cited> out;

 private:
  const RunState* state_;
};

std::vector<Cited> pointers_of(const json::Value& state, const RunState* ledger) {
  Pointers pointers(ledger);
  for (const json::Value& claim : member(state, "claims").items()) {
    const std::string_view id = claim.text_or("claim_id", "");
    pointers.add(member(claim, "evidence_refs"), Cited::Where::claim, id);
    pointers.add(member(claim, "withdrawn_refs"), Cited::Where::withdrawn, id);
  }
  for (const json::Value& conflict : member(state, "conflicts").items()) {
    const std::string_view id = conflict.text_or("conflict_id", "");
    pointers.add(member(conflict, "side_a_refs"), Cited::Where::side_a, id);
    pointers.add(member(conflict, "side_b_refs"), Cited::Where::side_b, id);
  }
  return std::move(pointers.out);
}

Examined examine(Candidate& candidate, const LogFacts& facts) {
  const json::Value& shown = candidate.shown();
  const RunState* state = facts.session_found ? facts.state.get() : nullptr;
  Examined out{shown, facts, candidate.arena(), hashed_form(shown, candidate.arena()), {}, {}, pointers_of(member(shown, "state"), state)};
  out.trigger = parse_trigger(member(shown, "provenance").text_or("trigger", ""));
  if (state != nullptr && (state->run != nullptr || state->has_request()))
    out.built = build({*state, facts.cut, facts.pins, facts.previous, out.trigger.value_or(Trigger::manual)}, candidate.arena());
  return out;
}

Outcome run(const Row& row, const Examined& it) {
  if (row.needs != Needs::nothing && !it.facts.session_found)
    return failed(fmt::format("not checked: session {} not found", told(it.facts.session)));
  return row.needs == Needs::state && it.facts.state == nullptr ? it.unfolded() : row.check(it);
}

}  // namespace

std::string_view action_name(Action action) {
  constexpr std::string_view kNames[] = {"NONE", "RETRY", "SYSTEM_ERROR"};
  return kNames[static_cast<int>(action)];
}

bool Verdict::pass() const {
  return !checks.empty() && std::all_of(checks.begin(), checks.end(), [](const Check& check) { return check.pass; });
}

std::vector<const Check*> Verdict::failed() const {
  std::vector<const Check*> out;
  for (const Check& check : checks) {
    if (!check.pass) out.push_back(&check);
  }
  return out;
}

json::Value Verdict::to_json(Action action, json::Arena& arena) const {
  const auto status = [](bool passes) { return passes ? "PASS" : "FAIL"; };
  std::vector<json::Value> rows;
  rows.reserve(checks.size());
  for (const Check& check : checks) {
    rows.push_back(
        json::make_object(arena, {{"name", check.name}, {"status", status(check.pass)}, {"message", arena.copy(check.message)}}));
  }
  return json::make_object(
      arena, {{"status", status(pass())}, {"checks", json::make_array(arena, rows)}, {"failure_action_taken", action_name(action)}});
}

Result<Verdict> validate(Candidate& candidate, const LogFacts& facts) {
  Verdict out;
  if (candidate.problem_count() > 0) {
    out.checks.push_back(
        {kSchema, false, fmt::format("{} schema problems; first: {}", candidate.problem_count(), candidate.problems().front())});
    return out;
  }
  out.checks.push_back({kSchema, true, "all required keys present with declared types"});
  const Examined it = examine(candidate, facts);
  for (const Row& row : kRows) {
    Outcome outcome = run(row, it);
    if (outcome.unread) return *std::move(outcome.unread);
    out.checks.push_back({row.name, outcome.pass, std::move(outcome.message)});
  }
  return out;
}

std::vector<std::string> advice(const json::Value& stored, const RunState& state, std::size_t stored_bytes) {
  std::vector<std::string> out;
  std::map<std::string_view, std::vector<std::string_view>> claims_by_quote;
  std::vector<std::string_view> quotes;  // as they come
  for (const json::Value& claim : member(stored, "state", "claims").items()) {
    if (claim.text_or("status", "") == "retracted") continue;
    const std::string_view id = claim.text_or("claim_id", "");
    for (const json::Value& pointer : member(claim, "evidence_refs").items()) {
      const Evidence* evidence = state.evidence.find(pointer.text_or("evidence_id", ""));
      if (evidence == nullptr) continue;
      auto& claims = claims_by_quote[evidence->quote_sha256];
      if (claims.empty()) quotes.push_back(evidence->quote_sha256);
      if (claims.empty() || claims.back() != id) claims.push_back(id);
    }
  }
  for (const std::string_view quote : quotes) {
    const auto& claims = claims_by_quote[quote];
    if (claims.size() < 2) continue;
    std::string line = fmt::format("quote {}.. is cited under {} claims: ", quote.substr(0, 4), claims.size());
    for (std::size_t i = 0; i < std::min(claims.size(), kClaimsTold); ++i) line += (i == 0 ? "" : ", ") + told(claims[i]);
    if (claims.size() > kClaimsTold) line += fmt::format(" and {} more", claims.size() - kClaimsTold);
    out.push_back(std::move(line));
  }
  if (stored_bytes > kLargeSnapshotBytes) out.push_back(fmt::format("snapshot is {} bytes", stored_bytes));
  return out;
}

}  // namespace weir::compaction
