#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "compaction/checks.h"
#include "compaction/snapshot.h"

namespace weir::compaction {
namespace {

// The anomalies that are the ledger's, or those that are not.
Findings anomalies(const RunState& state, bool ledger) {
  Findings out;
  if (state.anomalies == nullptr) return out;
  for (const Anomaly& anomaly : *state.anomalies) {
    if (anomaly.ledger == ledger) out.add([&] { return ledger ? anomaly.text : anomaly.text + " at " + anomaly.entry.str(); });
  }
  return out;
}

// Why a quote is not verified; empty: it is. A span that counts no bytes cuts none out, so none hash to it.
std::string quote_problem(const Evidence& evidence, const std::optional<std::string>& chunk) {
  if (!chunk) return fmt::format("no stored bytes for chunk {}", told(evidence.chunk_id));
  const auto start = static_cast<std::uint64_t>(evidence.span.start), end = static_cast<std::uint64_t>(evidence.span.end);
  const bool inside = evidence.span.counts_bytes() && evidence.span.start >= 0 && start < end && end <= chunk->size();
  if (inside && sha256(std::string_view(*chunk).substr(start, end - start)).hex() == evidence.quote_sha256) return {};
  return "bytes do not hash to quote_sha256";
}

// Of all evidence relied on. Chunk by chunk, so that each one's bytes are fetched once and held one at a time.
Result<std::map<const Evidence*, std::string>> quote_problems(const Examined& it) {
  std::map<std::string_view, std::set<const Evidence*>> by_chunk;
  for (const Cited& pointer : it.pointers) {
    if (pointer.relied_on()) by_chunk[pointer.record->chunk_id].insert(pointer.record);
  }
  std::map<const Evidence*, std::string> out;
  for (const auto& [chunk_id, records] : by_chunk) {
    std::optional<std::string> bytes;
    if (it.facts.chunk_bytes) {
      TRY(bytes, it.facts.chunk_bytes(it.state(), std::string(chunk_id)));
    }
    for (const Evidence* record : records) out.emplace(record, quote_problem(*record, bytes));
  }
  return out;
}

// What the ledger has against a claim's being verified; empty: nothing.
std::string_view missing_warrant(const json::Value& claim, const RunState& state) {
  const Claim* record = state.claims.find(claim.text_or("claim_id", ""));
  if (record == nullptr || !record->verified_entry) return "has no CLAIM_VERIFIED entry";
  if (record->status != ClaimStatus::verified) return "is not verified in the ledger";
  if (claim.text_or("statement", "") != record->statement) return "statement differs from the ledger";
  const std::set<std::string_view> linked(record->refs.begin(), record->refs.end());
  for (const json::Value& pointer : member(claim, "evidence_refs").items()) {
    const std::string_view id = pointer.text_or("evidence_id", "");
    if (!id.empty() && !linked.contains(id)) return "cites evidence the ledger does not link";
  }
  return {};
}

}  // namespace

Outcome ledger_consistent(const Examined& it) {
  const Findings problems = anomalies(it.state(), true);
  if (!problems.none()) return problems.failed("ledger problems");
  const std::string_view says = member(it.shown, "provenance").text_or("ledger_digest", "");
  // What the log gave was hashed when it was built; where it gave nothing, it is now.
  const std::string gives =
      it.built ? std::string(member(*it.built, "provenance").text_or("ledger_digest", "")) : ledger_digest(it.state()).hex();
  if (says != gives) return failed(fmt::format("ledger_digest is {}, log gives {}", told(says), gives));
  return passed(fmt::format("{} evidence records, {} withdrawn", it.state().evidence.size(), it.state().withdrawn.size()));
}

Outcome life_cycle_legal(const Examined& it) {
  const Findings illegal = anomalies(it.state(), false);
  return illegal.none() ? passed("no illegal transition") : illegal.failed("illegal transitions");
}

Outcome evidence_pointers_resolve(const Examined& it) {
  Findings unresolved;
  std::size_t resolved = 0;
  for (const Cited& pointer : it.pointers) {
    if (!pointer.well_formed) continue;  // named already
    if (pointer.record != nullptr && pointer.record->chunk_id == pointer.chunk_id && pointer.record->span == pointer.span) {
      ++resolved;
    } else {
      unresolved.add([&] { return pointer.label() + " -> " + told(pointer.evidence_id); });
    }
  }
  if (!unresolved.none()) return unresolved.failed("pointers not in the ledger as written");
  return passed(fmt::format("{} pointers resolve in the ledger", resolved));
}

Outcome evidence_ids_deterministic(const Examined& it) {
  Findings underived;
  std::set<std::string_view> recomputed;
  for (const Cited& pointer : it.pointers) {
    if (!pointer.relied_on() || !recomputed.insert(pointer.evidence_id).second) continue;
    if (derive_evidence_id(*pointer.record) != pointer.evidence_id) underived.add([&] { return told(pointer.evidence_id); });
  }
  if (!underived.none()) return underived.failed("evidence ids do not follow the derivation");
  return passed(fmt::format("{} cited evidence ids recomputed", recomputed.size()));
}

Outcome quotes_verify(const Examined& it) {
  const RunState& state = it.state();
  const bool declared = state.run != nullptr && state.run->quotes_checked;
  if (!declared && it.shown.text_or("provenance_mode", "") != "quotes_checked") return passed("not checked: provenance_mode is audit_only");
  const auto problems = quote_problems(it);
  if (!problems.ok()) return {false, {}, problems.error()};
  Findings unverified;
  std::size_t verified = 0;
  for (const Cited& pointer : it.pointers) {
    if (!pointer.relied_on()) continue;
    const std::string& problem = problems->at(pointer.record);
    if (problem.empty()) {
      ++verified;
    } else {
      unverified.add([&] { return fmt::format("{} -> {}: {}", pointer.label(), told(pointer.evidence_id), problem); });
    }
  }
  if (!unverified.none()) return unverified.failed("quotes not verified");
  return passed(fmt::format("{} quotes re-hashed from stored chunks", verified));
}

Outcome no_new_verified_claims(const Examined& it) {
  Findings unwarranted;
  std::size_t verified = 0;
  for (const json::Value& claim : member(it.shown, "state", "claims").items()) {
    if (claim.text_or("status", "") != "verified") continue;
    ++verified;
    const std::string_view missing = missing_warrant(claim, it.state());
    if (!missing.empty()) unwarranted.add([&] { return fmt::format("{} {}", told(claim.text_or("claim_id", "")), missing); });
  }
  if (!unwarranted.none()) return unwarranted.failed("verified claims without ledger warrant");
  return passed(fmt::format("{} verified claims warranted by the ledger", verified));
}

}  // namespace weir::compaction
