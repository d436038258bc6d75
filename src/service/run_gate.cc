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
#include "service/replay.h"
#include "service/snapshots.h"
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
  have_ = stepped_ = any_added_ = false;
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
    if (state->stop && !known) return run_stopped(*state->stop, entry.type);
    json::Arena arena;
    TRY(const Value whole, checked_snapshot_body(service_, txn, session, *state, entry.type, body, blobs_, arena));
    if (event && !known && !options_.lenient) TRY_DO(check_event(*event, body, *state));
    Preparer preparer(no_masking(), &blobs_);
    TRY(PreparedBody prepared, preparer.prepare(entry.type, whole, arena));
    return std::optional(std::move(prepared));
  }
  if (!event) return std::optional<PreparedBody>();
  return complete_event(*event, body, *state, known);
}

Result<std::optional<PreparedBody>> RunGate::complete_event(Event event, const Value& body, const RunState& state, bool known) {
  json::Arena arena;
  const auto whole = compaction::complete(event, body, state, service_.settings().thresholds, blobs_, arena);
  if (!known && !options_.lenient) TRY_DO(check_event(event, whole ? *whole : body, state));
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

Result<void> RunGate::check_event(Event event, const Value& body, const RunState& state) {
  if (auto wrong = compaction::wrong_fields(event, body, false); !wrong.empty()) {
    TRY_DO(compaction::explain_missing(event, body, state, wrong));
    return compaction::wrong_field_error(event, wrong, "/body");
  }
  if (const auto illegal = compaction::illegal(state, event, body, true)) {
    if (illegal->why == Illegal::Why::stopped) return run_stopped(*state.stop, event_name(event));
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

Result<void> RunGate::added(LogTxn& txn, const SessionRow& session, const Entry& entry) {
  TRY_DO(state_at(txn, session, entry.parent));
  if (!any_added_) first_ = entry.seq - 1;
  any_added_ = true;
  const auto anomalies = state_->anomalies;
  TRY_DO(compaction::RunFold::step(*state_, entry));
  seq_ = entry.seq;
  digest_ = entry.digest;
  stepped_ = true;
  if (options_.lenient && state_->anomalies != anomalies && state_->anomalies != nullptr) {
    const compaction::Anomaly& last = state_->anomalies->back();
    if (last.entry.bits == entry.digest.prefix64())
      warnings_.push_back(last.text + " at " + last.entry.str() + ": the next compaction will fail");
  }
  if (const auto event = compaction::parse_event(entry.type)) {
    TRY(const Value body, parser_.parse_stored(entry.body));
    for (std::string& warning : compaction::warnings(*state_, *event, body)) warnings_.push_back(std::move(warning));
  }
  return {};
}

Result<bool> RunGate::finish(LogTxn& txn, const SessionRow& session, Seq head) {
  if (head == 0) return false;
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
  if (stored && stepped_) service_.run_fold().keep(session_, seq_, digest_, std::make_shared<const RunState>(*state_));
  if (!stored && asked_for_new_) service_.run_fold().forget();
  asked_for_new_ = false;
}

// A process that starts cold folds from what is saved: never far, and saving never costs more than some bytes an entry.
Result<void> RunGate::save_if_far(LogTxn& txn, const SessionRow& session, Seq head, const RunState& state) {
  constexpr std::uint64_t kLeastStride = 1024, kBytesAnEntry = 512;
  const std::uint64_t stride = std::bit_ceil(std::max<std::uint64_t>(kLeastStride, compaction::RunFold::bytes(state) / kBytesAnEntry));
  const bool crossed = first_ / stride != head / stride;
  const bool was_far = service_.run_fold().steps() - steps_before_ > stride;
  if (!crossed && !was_far && !options_.save) return {};
  TRY_DO(txn.drop_checkpoints(session.no, compaction::RunFold::kName));
  return txn.save_checkpoint(session.no, compaction::RunFold::kName, {head, compaction::RunFold::save(state)});
}

const Masker& no_masking() {
  static const Masker nothing = Masker::make({.enabled = false}).value();
  return nothing;
}

Error run_stopped(const compaction::Stop& stop, std::string_view what) {
  return Error(ErrorCode::RUN_STOPPED, "run stopped (" + stop.stop_reason + ") at " + stop.entry.str() + ": " + std::string(what) +
                                           " refused until RUN_RESUMED by a human")
      .with("entry", stop.entry.str())
      .with("stop_reason", stop.stop_reason)
      .with("help", "a person reopens it: weir resume --session ID");
}

}  // namespace weir
