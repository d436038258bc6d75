#include "service/run_gate.h"

#include <algorithm>
#include <bit>

#include "base/limits.h"
#include "compaction/carry.h"
#include "compaction/event_rules.h"
#include "compaction/evidence.h"
#include "compaction/narrative.h"
#include "compaction/snapshot.h"
#include "compaction/trigger.h"
#include "json/canonical.h"
#include "service/compact.h"
#include "service/replay.h"
#include "service/snapshots.h"
#include "session/address.h"
#include "session/bodies.h"
#include "session/types.h"

namespace weir {

using compaction::Event;
using compaction::Illegal;
using compaction::RunState;
using json::Value;

bool RunGate::owned(std::string_view type) {
  return type == types::kLabel || type == types::kCompaction || compaction::parse_event(type).has_value();
}

Result<void> RunGate::warm(const SessionId& id, const HeadName& head) {
  if (service_.run_fold().held_bytes() > 0) return {};  // only a process that has just begun has far to go
  return service_.log().read([&](LogReader& reader) -> Result<void> {
    TRY(const auto session, reader.session(id));
    if (!session) return {};
    TRY(const auto stands, reader.head(session->no, head));
    if (stands && *stands != 0) TRY_DO(service_.run_fold().at(reader, session->no, *stands));
    return {};
  });
}

void RunGate::begin() {
  have_ = stepped_ = any_added_ = relies_ = false;
  state_.reset();
  warnings_.clear();
  first_ = 0;
  steps_before_ = service_.run_fold().steps();
}

Result<std::shared_ptr<const RunState>> RunGate::folded_at(LogTxn& txn, const SessionRow& session, Seq seq) {
  asked_for_new_ = asked_for_new_ || (any_added_ && seq > first_);
  return service_.run_fold().at(txn, session.no, seq);
}

Result<const RunState*> RunGate::state_at(LogTxn& txn, const SessionRow& session, Seq seq) {
  if (have_ && seq_ == seq) return state_.get();
  TRY(const auto state, folded_at(txn, session, seq));
  state_ = std::make_shared<RunState>(*state);
  seq_ = seq;
  have_ = true;
  stepped_ = false;
  return state_.get();
}

Result<std::optional<PreparedBody>> RunGate::complete(LogTxn& txn, const SessionRow& session, const NewEntry& entry, Seq parent,
                                                      bool known) {
  const auto event = compaction::parse_event(entry.type);
  if (entry.type == types::kLabel && known) return std::optional<PreparedBody>();
  TRY(const RunState* state, state_at(txn, session, parent));
  TRY(const Value body, parser_.parse_stored(entry.body.canonical));
  if (entry.type == types::kLabel) {
    if (!options_.lenient) TRY_DO(check_pin(txn, session, body, *state));
    return std::optional<PreparedBody>();
  }
  const bool snapshot = body.find("snapshot") != nullptr && !body.find("snapshot")->is_null();
  if (snapshot && !options_.trusted && (!event || *event == Event::SNAPSHOT_ATTACHED)) {
    if (state->stop && !known) return stopped(*state->stop, session, entry.type);
    json::Arena arena;
    TRY(const Value whole, checked_snapshot_body(service_, txn, session, *state, entry.type, body, blobs_, arena));
    if (event && !known && !options_.lenient) TRY_DO(check_event(*event, body, *state, session));
    Preparer preparer(no_masking(), &blobs_);
    TRY(PreparedBody prepared, preparer.prepare(entry.type, whole, arena));
    return std::optional(std::move(prepared));
  }
  if (!event) return std::optional<PreparedBody>();
  return complete_event(*event, body, *state, session, known);
}

Result<std::optional<PreparedBody>> RunGate::complete_event(Event event, const Value& body, const RunState& state,
                                                            const SessionRow& session, bool known) {
  json::Arena arena;
  TRY(const auto whole, compaction::complete(event, body, state, service_.settings().thresholds, blobs_, arena));
  if (!known && !options_.lenient) TRY_DO(check_event(event, whole ? *whole : body, state, session));
  if (!whole) return std::optional<PreparedBody>();
  PreparedBody out;
  out.canonical = json::canonical(*whole);
  if (out.canonical.size() > limits::kEntryBodyBytes)
    return over_limit("bytes of an entry's body", limits::kEntryBodyBytes, out.canonical.size());
  out.hash = BodyHash(out.canonical);
  return std::optional(std::move(out));
}

// What is forgiven is named by entry pointers; anything else is a slip of the pen.
Result<void> RunGate::check_forgiven(const Value& body) {
  const auto forgiven = compaction::texts_in(body, "forgive");
  for (std::size_t i = 0; i < forgiven.size(); ++i) {
    const std::string& pointer = forgiven[i];
    if (pointer.size() == 17 && pointer[0] == 'e' && pointer.find_first_not_of("0123456789abcdef", 1) == std::string::npos) continue;
    return compaction::wrong_field_error(Event::RUN_RESUMED,
                                         {{"forgive[" + std::to_string(i) + "]", "is no entry pointer: e and 16 hex digits"}}, "/body");
  }
  return {};
}

Result<void> RunGate::check_event(Event event, const Value& body, const RunState& state, const SessionRow& session) {
  if (auto wrong = compaction::wrong_fields(event, body, false); !wrong.empty()) {
    TRY_DO(compaction::explain_missing(event, body, state, wrong));
    return compaction::wrong_field_error(event, wrong, "/body");
  }
  if (const auto illegal = compaction::illegal(state, event, body, true)) {
    if (illegal->why == Illegal::Why::stopped) return stopped(*state.stop, session, event_name(event));
    return Error(ErrorCode::ILLEGAL_TRANSITION, illegal->text);
  }
  if (event == Event::RUN_RESUMED) TRY_DO(check_forgiven(body));
  return compaction::check_evidence(event, body, state, blobs_);
}

// What cannot be carried cannot be pinned.
Result<void> RunGate::check_pin(LogTxn& txn, const SessionRow& session, const Value& body, const RunState& state) {
  if (body.text_or("label", "") != "pin") return {};
  const auto seq = state.carry.messages.find(body.text_or("target", ""));
  if (!seq) return {};
  TRY(const auto entry, txn.entry(session.no, *seq, Columns::all));
  if (!entry) return {};
  json::Parser parser;
  TRY(const Value message, stored_body(parser, *entry));
  const compaction::Text text = compaction::message_text(message.find("content"), compaction::kMostText);
  return text.whole ? Result<void>() : over_limit("bytes of a message that is pinned", compaction::kMostText, text.bytes);
}

// Events after which a compaction passes if it passed before: they say or take back something, each within the bounds that its
// rules have checked, and let nothing rely on evidence that did not before.
static bool breaks_nothing(Event event) {
  constexpr Event kEvents[] = {Event::CLAIM_PROPOSED,      Event::CLAIM_DOWNGRADED, Event::CLAIM_RETRACTED, Event::CONFLICT_RESOLVED,
                               Event::EVIDENCE_REGISTERED, Event::QUESTION_OPENED,  Event::QUESTION_CLOSED, Event::FAILURE_RECORDED,
                               Event::FAILURE_RESOLVED,    Event::NEXT_ACTIONS_SET};
  return std::find(std::begin(kEvents), std::end(kEvents), event) != std::end(kEvents);
}

Result<void> RunGate::added(LogTxn& txn, const SessionRow& session, const Entry& entry) {
  TRY_DO(state_at(txn, session, entry.parent));
  if (!any_added_) {
    first_ = entry.seq - 1;
    parent_ = entry.parent;
  }
  any_added_ = true;
  const auto anomalies = state_->anomalies;
  TRY_DO(compaction::RunFold::step(*state_, entry));
  seq_ = entry.seq;
  digest_ = entry.digest;
  depth_ = entry.depth;
  stepped_ = true;
  if (options_.lenient && state_->anomalies != anomalies && state_->anomalies != nullptr) {
    const compaction::Anomaly& last = state_->anomalies->back();
    if (last.entry.bits == entry.digest.prefix64())
      warnings_.push_back(last.text + " at " + last.entry.str() + ": the next compaction will fail");
  }
  if (const auto event = compaction::parse_event(entry.type)) {
    relies_ = relies_ || !breaks_nothing(*event);
    TRY(const Value body, parser_.parse_stored(entry.body));
    for (std::string& warning : compaction::warnings(*state_, *event, body)) warnings_.push_back(std::move(warning));
  }
  return {};
}

// What each check asks for, said to whoever takes a note. A check that no note can break has no row.
struct Mending {
  std::string_view check, warned;  // its name, and words of the warning that says the same
  std::string_view help;
};
constexpr Mending kMendings[] = {
    {"verified_claims_have_evidence", "is verified without evidence",
     "cite evidence in the same note: weir note claim verify CLAIM EVIDENCE (refs); weir note evidence add --span CHUNK:START-END makes "
     "some"},
    {"conflicts_two_sided", "conflict ",
     "a conflict needs evidence on both sides, and no piece on both: weir note conflict add TEXT --refs EVIDENCE --other EVIDENCE; without "
     "evidence it is a question: weir note question add TEXT"},
    {"coverage_consistent", "is cited but was never seen",
     "cite what was shown: a chunk is seen once it was read (weir read), selected by a context's request, or registered with "
     "delivered:true"},
    {"quotes_verify", "",
     "this run checks quotes: register the chunk with its text first (weir append --type CHUNK_REGISTERED), then cite it"},
};

// The checks that a compaction at the state would fail.
Result<std::vector<compaction::Check>> RunGate::failing_at(LogTxn& txn, const SessionRow& session,
                                                           const std::shared_ptr<const RunState>& state, Seq seq) {
  std::vector<compaction::Check> out;
  if (!state->cut || (state->run == nullptr && !state->has_request())) return out;  // nothing to compact yet
  TRY(auto cut, txn.entry(session.no, seq, Columns::without_body));
  if (!cut) return out;
  TRY(const compaction::Verdict verdict, verdict_on(service_, txn, session, state, std::move(*cut), blobs_));
  for (const compaction::Check* check : verdict.failed()) out.push_back(*check);
  return out;
}

// A warning says what is wrong with the subject of a note; the checks find what only shows in the whole. What failed before is
// not this note's fault.
Result<void> RunGate::check_note(LogTxn& txn, const SessionRow& session) {
  if (!relies_ && warnings_.empty()) return {};  // the checks look at the whole run, which costs what the run is long
  std::string why, check;
  if (!warnings_.empty()) why = warnings_.front().substr(0, warnings_.front().rfind(": the next compaction will fail"));
  TRY(const auto after, failing_at(txn, session, state_, seq_));
  if (why.empty() && !after.empty()) {
    std::vector<compaction::Check> before;
    if (parent_ != 0) {
      TRY(const auto state, service_.run_fold().at(txn, session.no, parent_));
      if (state->cut) {
        TRY(before, failing_at(txn, session, state, state->cut->seq));
      }
    }
    for (const compaction::Check& each : after) {
      const auto same = [&](const compaction::Check& other) { return other.name == each.name; };
      if (std::any_of(before.begin(), before.end(), same)) continue;
      check = each.name;
      why = check + ": " + each.message;
      break;
    }
  }
  if (why.empty()) return {};
  const auto mending = std::find_if(std::begin(kMendings), std::end(kMendings), [&](const Mending& each) {
    return each.check == check || (check.empty() && !each.warned.empty() && why.find(each.warned) != std::string::npos);
  });
  Error out(ErrorCode::ILLEGAL_TRANSITION, "not noted, or no compaction could pass any more: " + why);
  return mending == std::end(kMendings) ? std::move(out) : std::move(out).with("help", std::string(mending->help));
}

Result<bool> RunGate::finish(LogTxn& txn, const SessionRow& session, Seq head) {
  if (head == 0) return false;
  if (options_.note && stepped_) TRY_DO(check_note(txn, session));
  session_ = session.no;
  std::shared_ptr<const RunState> state = stepped_ && seq_ == head ? state_ : nullptr;
  if (state == nullptr) {
    TRY(state, folded_at(txn, session, head));
  }
  TRY_DO(save_if_far(txn, session, head, *state));
  return compaction::due(*state).has_value();
}

// A state knows its entries by their ids, and an id is in no digest: what was folded here is remembered only when it is stored.
void RunGate::settle(bool stored) {
  if (stored && stepped_) service_.run_fold().keep(session_, seq_, depth_, digest_, std::make_shared<const RunState>(*state_));
  if (!stored && asked_for_new_) service_.run_fold().forget();
  asked_for_new_ = false;
}

// A process that starts cold folds from what is saved: never far, and saving never costs more than some bytes an entry.
Result<void> RunGate::save_if_far(LogTxn& txn, const SessionRow& session, Seq head, const RunState& state) {
  constexpr std::uint64_t kLeastStride = 1024, kBytesAnEntry = 512;
  const std::uint64_t stride = std::bit_ceil(std::max<std::uint64_t>(kLeastStride, compaction::RunFold::root_bytes(state) / kBytesAnEntry));
  const bool crossed = first_ / stride != head / stride;
  const bool was_far = service_.run_fold().steps() - steps_before_ > stride;
  if (!crossed && !was_far && !options_.save) return {};
  // Whoever comes next in this transaction finds the state here: its parts cannot be read by others before the commit.
  TRY(const auto entry, txn.entry(session.no, head, Columns::without_body));
  if (entry) service_.run_fold().keep(session.no, head, entry->depth, entry->digest, std::make_shared<const RunState>(state));
  asked_for_new_ = true;
  return service_.run_fold().save(txn, session.no, head, state);
}

const Masker& no_masking() {
  static const Masker nothing = Masker::make({.enabled = false}).value();
  return nothing;
}

Error RunGate::stopped(const compaction::Stop& stop, const SessionRow& session, std::string_view what) const {
  return run_stopped(stop, what, session.id, head_);
}

std::string resume_help(const SessionId& session, const HeadName& head) {
  const bool named = !head.empty() && head != main_head();
  return "a person reopens it: weir resume --session " + session.str() + (named ? " --head " + head.str() : "");
}

Error run_stopped(const compaction::Stop& stop, std::string_view what, const SessionId& session, const HeadName& head) {
  return Error(ErrorCode::RUN_STOPPED, "run stopped (" + stop.stop_reason + ") at " + stop.entry.str() + ": " + std::string(what) +
                                           " refused until RUN_RESUMED by a human")
      .with("entry", stop.entry.str())
      .with("stop_reason", stop.stop_reason)
      .with("help", resume_help(session, head));
}

}  // namespace weir
