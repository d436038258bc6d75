#include "compaction/narrative.h"
#include "compaction/run_fold.h"
#include "compaction/snapshot.h"
#include "service/snapshots.h"
#include "session/bodies.h"
#include "session/fold_engine.h"
#include "session/prepare.h"
#include "session/types.h"

namespace weir {

using json::Value;

namespace {

bool holds_snapshot(const Value& body) {
  const Value* snapshot = body.find("snapshot");
  return snapshot != nullptr && snapshot->is_object();
}

// The run fold of which nothing is saved: from the root, always.
struct FromRoot : compaction::RunFold {
  static std::string save(const State&) = delete;
};

class VerifyingSnapshots {
 public:
  VerifyingSnapshots(Service& service, LogReader& reader, const SessionRow& session, std::vector<Finding>& out)
      : service_(service), reader_(reader), session_(session), out_(out) {}

  Result<void> run() {
    TRY(const Seq last, reader_.last_seq(session_.no));
    std::vector<Seq> holders;
    TRY_DO(reader_.scan(session_.no, 1, last, Order::forward, Columns::without_body, [&](Entry& entry) -> Result<bool> {
      if (entry.type == types::kCompaction || entry.type == types::kSnapshotAttached) holders.push_back(entry.seq);
      return true;
    }));
    json::Parser parser;
    for (const Seq seq : holders) {
      TRY(const auto entry, reader_.entry(session_.no, seq, Columns::all));
      TRY(const Value body, stored_body(parser, *entry));
      if (!holds_snapshot(body)) continue;
      auto fault = fault_of(*entry, body);
      if (!fault.ok() && fault.error().code() == ErrorCode::BUSY) return fault.error();  // want of files or memory is no damage
      TRY(const auto purged, reader_.purged_blobs());
      if (!fault.ok() && fault.error().code() == ErrorCode::NOT_FOUND && !purged.empty()) continue;  // taken out on purpose
      const std::string what = fault.ok() ? *fault : fault.error().message();
      if (!what.empty()) out_.push_back({session_.id.str(), entry->id.str(), "", "snapshot: " + what});
    }
    return {};
  }

 private:
  // Empty: it holds.
  Result<std::string> fault_of(const Entry& entry, const Value& body) {
    TRY(const auto snapshot, stored_snapshot(body, service_.store().blobs()));
    TRY(const auto before, fold_.at(reader_, session_.no, entry.parent));
    const bool attached = entry.type == types::kSnapshotAttached;
    const compaction::Place last = attached ? before->barrier_last : before->cut ? *before->cut : compaction::Place();
    if (last.seq == 0) return std::string("there is nothing it could cover");
    Replay replayed;
    TRY(const auto cut, reader_.entry(session_.no, last.seq, Columns::without_body));
    replayed.cut = *cut;
    replayed.entries = cut->depth;
    TRY(replayed.state, fold_.at(reader_, session_.no, last.seq));
    TRY(const GatheredFacts facts, gather_facts(reader_, session_, std::move(replayed), service_.store().blobs()));
    compaction::Candidate candidate =
        shown_candidate(snapshot->stored, session_.id.str(), entry.at, compaction::first_place(*facts.facts.state), last);
    TRY(const compaction::Verdict verdict, compaction::validate(candidate, facts.facts));
    for (const compaction::Check* check : verdict.failed()) {
      // Bytes that were purged on purpose can no longer be read; that is no damage.
      TRY(const auto purged, reader_.purged_blobs());
      if (check->name == "quotes_verify" && !purged.empty()) continue;
      return std::string(check->name) + ": " + check->message;
    }
    return narrative_fault(body, snapshot->stored);
  }

  Result<std::string> narrative_fault(const Value& body, const Value& stored) {
    const Value* text = body.find("narrative");
    const Value* bound = body.find("narrative_max_bytes");
    if (text == nullptr || bound == nullptr || !bound->is_integer() || bound->integer() < 0) return std::string("it has no narrative");
    json::Arena arena;
    TRY(const Value whole, resolve_blobs(*text, service_.store().blobs(), arena));
    const auto rendered = compaction::narrative(stored, static_cast<std::uint64_t>(bound->integer()));
    const bool same = rendered.ok() && whole.is_string() && whole.text() == *rendered;
    return std::string(same ? "" : "its narrative is not what it renders to");
  }

  Service& service_;
  LogReader& reader_;
  const SessionRow& session_;
  std::vector<Finding>& out_;
  FoldEngine<FromRoot> fold_;
};

}  // namespace

Result<void> verify_snapshots(Service& service, const std::string& only, VerifyReport& report) {
  return service.log().read([&](LogReader& reader) -> Result<void> {
    TRY(const auto sessions, reader.sessions());
    for (const SessionRow& session : sessions) {
      if (only.empty() || session.id.str() == only) TRY_DO(VerifyingSnapshots(service, reader, session, report.findings).run());
    }
    return {};
  });
}

}  // namespace weir
