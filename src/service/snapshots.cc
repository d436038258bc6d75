#include "service/snapshots.h"

#include <fmt/format.h>

#include <algorithm>

#include "compaction/narrative.h"
#include "compaction/run_fold.h"
#include "compaction/snapshot.h"
#include "json/canonical.h"
#include "session/address.h"
#include "session/bodies.h"
#include "session/path.h"
#include "session/prepare.h"
#include "session/types.h"
#include "store/blob_refs.h"

namespace weir {

using compaction::Accepted;
using compaction::RunState;
using json::Value;

namespace {

// The entry of a session with that digest.
Result<std::optional<Entry>> entry_with_digest(LogReader& reader, SessionNo session, std::string_view hex) {
  const auto digest = Digest::parse(hex);
  if (!digest.ok()) return std::optional<Entry>();
  TRY(const auto seqs, reader.with_digest(session, digest->prefix64()));
  for (const Seq seq : seqs) {
    TRY(auto entry, reader.entry(session, seq, Columns::without_body));
    if (entry && entry->digest == *digest) return entry;
  }
  return std::optional<Entry>();
}

}  // namespace

Error gate_failed(const std::vector<const compaction::Check*>& failed, std::string diagnostic) {
  std::vector<FieldError> checks;
  for (const compaction::Check* check : failed) checks.push_back({std::string(check->name), check->message});
  if (diagnostic.empty() && !failed.empty()) {
    diagnostic = fmt::format("snapshot fails {} checks; first: {}: {}", failed.size(), failed.front()->name, failed.front()->message);
  }
  return Error(ErrorCode::GATE_FAILED, std::move(diagnostic)).with_fields(std::move(checks));
}

Result<Value> snapshot_member(const std::string& stored_text, std::string_view id, std::int64_t sequence, std::uint64_t last_pos,
                              FunctionRef<Result<void>(std::string_view)> keep, json::Arena& arena) {
  constexpr std::size_t kInlineBytes = 262144;
  if (stored_text.size() <= kInlineBytes) return Value::raw(stored_text);
  TRY_DO(keep(stored_text));
  return json::make_object(arena, {{"$blob", arena.copy("sha256:" + sha256(stored_text).hex())},
                                   {"bytes", stored_text.size()},
                                   {"last_pos", last_pos},
                                   {"sequence", sequence},
                                   {"snapshot_id", arena.copy(id)}});
}

namespace {

// A narrative says what its snapshot says and nothing else: one that was sent must be the rendering.
Result<compaction::BoundNarrative> checked_narrative(const Value& body, const Value& stored, Blobs& blobs) {
  const Value* bound = body.find("narrative_max_bytes");
  const bool given = bound != nullptr && bound->is_integer() && bound->integer() >= 0;
  auto rendered =
      compaction::narrative_or_shortest(stored, given ? static_cast<std::uint64_t>(bound->integer()) : compaction::kNarrativeBytes);
  const Value* sent = body.find("narrative");
  if (sent == nullptr || sent->is_null()) return rendered;
  json::Arena arena;
  TRY(const Value text, resolve_blobs(*sent, blobs, arena));
  if (!text.is_string() || text.text() != rendered.text)
    return Error(ErrorCode::GATE_FAILED, "the narrative is not what the snapshot renders to within narrative_max_bytes");
  return rendered;
}

}  // namespace

Result<Value> checked_snapshot_body(Service& service, LogReader& reader, const SessionRow& session, const RunState& state,
                                    std::string_view type, const Value& body, Blobs& blobs, json::Arena& arena) {
  const bool attached = type == types::kSnapshotAttached;
  if (attached && !state.bare_barrier) return Error(ErrorCode::ILLEGAL_TRANSITION, "SNAPSHOT_ATTACHED names no bare barrier");
  TRY(const auto sent, stored_snapshot(body, blobs));
  const compaction::Place last = attached ? state.barrier_last : state.cut ? *state.cut : compaction::Place();
  if (last.seq == 0) return Error(ErrorCode::NOTHING_TO_COMPACT, "no RUN_STARTED and no user message on the path");
  compaction::Candidate candidate =
      shown_candidate(sent->stored, session.id.str(), service.now(), attached ? state.barrier_first : compaction::first_place(state), last);
  TRY(Replay replayed, replay(reader, session.no, last.seq, ReplayFrom::root));
  TRY(GatheredFacts facts, gather_facts(reader, session, std::move(replayed), blobs));
  // It stands for all that lies before it, so it must be cut there and nowhere else.
  facts.facts.cut_found = !candidate.problems().empty() || candidate.log_digest() == facts.facts.cut.hex();
  TRY(const compaction::Verdict verdict, compaction::validate(candidate, facts.facts));
  if (!verdict.pass()) return gate_failed(verdict.failed());
  // What is not hashed is ours to say: the verdict, and nothing that is only shown.
  const Value hashed = compaction::hashed_form(sent->stored, arena);
  const Value* said = sent->stored.find("validation");
  const bool retried = said != nullptr && said->text_or("failure_action_taken", "") == action_name(compaction::Action::retry);
  const std::string id = compaction::snapshot_id(hashed);
  const Value stored =
      compaction::stored_form(hashed, id, verdict.to_json(retried ? compaction::Action::retry : compaction::Action::none, arena), arena);
  TRY(const auto narrative, checked_narrative(body, stored, blobs));
  const std::string text(arena.copy(json::canonical(stored)));
  TRY(Value member, snapshot_member(
                        text, id, stored.find("sequence")->integer(), last.pos,
                        [&](std::string_view bytes) -> Result<void> {
                          TRY_DO(blobs.put(bytes));
                          return {};
                        },
                        arena));
  if (member.kind() == json::Kind::raw) member = Value::raw(arena.copy(text));
  json::ObjectBuilder out(arena);
  out.add("narrative", arena.copy(narrative.text)).add("narrative_max_bytes", narrative.max_bytes).add("snapshot", member);
  for (const json::Member& other : body.members()) out.add(other.key, other.value);
  return out.build();
}

namespace {

Result<std::vector<SnapshotRow>> rows_at(Service& service, LogReader& reader, const Located& at) {
  std::vector<SnapshotRow> out;
  TRY(const auto state, service.run_fold().at(reader, at.session.no, at.seq));
  for (std::size_t i = 0; i < state->accepted.size(); ++i) {
    const Accepted& accepted = state->accepted[i];
    TRY(const auto entry, reader.entry(at.session.no, accepted.holder.seq, Columns::without_body));
    if (!entry) return missing_entry(reader, at.session.no, accepted.holder.seq);
    out.push_back({accepted, entry->at, entry->type == types::kSnapshotAttached});
  }
  return out;
}

// By number, id, beginning of an id, or entry; newest first, so that a number repeated by nobody else wins.
Result<SnapshotRow> choose(const std::vector<SnapshotRow>& rows, std::string_view which) {
  constexpr std::size_t kLeastPrefix = 8;
  const auto named = [&](const SnapshotRow& row) {
    const Accepted& a = row.accepted;
    return std::to_string(a.sequence) == which || a.snapshot_id == which || a.holder.id == which || a.holder.pointer.str() == which ||
           (which.size() >= kLeastPrefix && a.snapshot_id.starts_with(which));
  };
  if (which == "last" && !rows.empty()) return rows.back();
  const auto it = std::find_if(rows.rbegin(), rows.rend(), named);
  if (it != rows.rend()) return *it;
  return Error(ErrorCode::NOT_FOUND, rows.empty() ? "there is no snapshot on this path"
                                                  : fmt::format("no snapshot '{}' on this path; it has 1 to {}", masked_excerpt(which, 80),
                                                                rows.back().accepted.sequence))
      .with("snapshot", masked_excerpt(which, 80));
}

}  // namespace

Result<std::vector<SnapshotRow>> list_snapshots(Service& service, const Address& address) {
  std::vector<SnapshotRow> out;
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(const Located at, locate(reader, address));
    TRY(out, rows_at(service, reader, at));
    return {};
  }));
  return out;
}

Value snapshot_row_json(const SnapshotRow& row, json::Arena& arena) {
  const Accepted& a = row.accepted;
  return json::make_object(arena, {{"sequence", a.sequence},
                                   {"snapshot_id", arena.copy(a.snapshot_id)},
                                   {"entry", arena.copy(a.holder.id)},
                                   {"pointer", arena.copy(a.holder.pointer.str())},
                                   {"created_at", arena.copy(format_time(row.at))},
                                   {"first_pos", a.first.pos},
                                   {"last_pos", a.last_pos},
                                   {"attached", row.attached}});
}

Result<ShownSnapshot> show_snapshot(Service& service, const Address& address, std::string_view which) {
  ShownSnapshot out;
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(const Located at, locate(reader, address));
    TRY(const auto rows, rows_at(service, reader, at));
    TRY(out.row, choose(rows, which));
    TRY(out.snapshot, stored_snapshot(reader, at.session.no, out.row.accepted.holder.seq, service.store().blobs()));
    out.shown = compaction::shown_form(out.snapshot->stored,
                                       {at.session.id.str(), format_time(out.row.at), out.row.accepted.first, out.row.accepted.last},
                                       out.snapshot->parser.arena());
    return {};
  }));
  return out;
}

Result<std::string> snapshot_narrative(Service& service, const Address& address, std::string_view which,
                                       std::optional<std::uint64_t> max_bytes) {
  TRY(const ShownSnapshot shown, show_snapshot(service, address, which));
  if (max_bytes) return compaction::narrative(shown.snapshot->stored, *max_bytes);
  std::string out;
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(const Located at, locate(reader, address));
    TRY(const auto entry, reader.entry(at.session.no, shown.row.accepted.holder.seq, Columns::all));
    json::Parser parser;
    TRY(const Value body, stored_body(parser, *entry));
    const Value* stored = body.find("narrative");
    TRY(const Value text, resolve_blobs(stored == nullptr ? Value("") : *stored, service.store().blobs(), parser.arena()));
    out = text.text();
    return {};
  }));
  return out;
}

Result<compaction::Verdict> check_snapshot(Service& service, std::string_view bytes, const std::optional<SessionId>& named,
                                           const HeadName& head) {
  compaction::Candidate candidate(bytes);
  compaction::LogFacts unknown;
  unknown.session_found = false;
  if (!candidate.problems().empty()) return compaction::validate(candidate, unknown);
  const auto run = named ? Result<SessionId>(*named) : SessionId::parse(candidate.run_id());
  unknown.session = named ? named->str() : std::string(candidate.run_id());
  if (!run.ok()) return compaction::validate(candidate, unknown);
  std::optional<compaction::Verdict> verdict;
  TRY_DO(service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(const auto session, reader.session(*run));
    if (!session) return {};
    TRY(const auto cut, entry_with_digest(reader, session->no, candidate.log_digest()));
    Seq at = 0;
    if (cut) {
      at = cut->seq;
    } else {
      const auto stands = reader.head(session->no, head);
      at = stands.ok() ? stands->value_or(0) : 0;
    }
    GatheredFacts facts;
    if (at == 0) {
      facts.facts.session = session->id.str();
      facts.facts.state = std::make_shared<const RunState>();
    } else {
      TRY(Replay replayed, replay(reader, session->no, at, ReplayFrom::root));
      TRY(facts, gather_facts(reader, *session, std::move(replayed), service.store().blobs()));
    }
    facts.facts.cut_found = cut.has_value();
    TRY(verdict, compaction::validate(candidate, facts.facts));
    return {};
  }));
  if (!verdict) return compaction::validate(candidate, unknown);
  return *std::move(verdict);
}

}  // namespace weir
