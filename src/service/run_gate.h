// The gate every append goes through: run events are completed and held to the run's state, a pin to what can be carried, a
// snapshot that somebody sends to its checks. It steps the run fold along, so an append also knows whether a compaction is due.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compaction/event.h"
#include "compaction/run_state.h"
#include "compaction/validate.h"
#include "json/parse.h"
#include "service/service.h"
#include "session/append.h"

namespace weir {

class RunGate {
 public:
  struct Options {
    bool lenient = false;  // what is malformed or illegal is stored, and an anomaly
    bool trusted = false;  // Weir's own snapshot, validated already
    bool save = false;     // the run's state is saved beside the log in any case
    bool note = false;     // refused, too, if it makes a compaction fail that would pass without it
  };
  // The head is the one that is moved along, for what a person is told to type.
  RunGate(Service& service, Blobs& blobs, HeadName head, Options options)
      : service_(service), blobs_(blobs), head_(std::move(head)), options_(options) {}

  static bool owned(std::string_view type);

  // Before the lock: folds what has to be folded, so that nobody waits for it.
  Result<void> warm(const SessionId& session, const HeadName& head);
  // Forgets what an earlier run of the transaction left.
  void begin();
  Result<std::optional<PreparedBody>> complete(LogTxn& txn, const SessionRow& session, const NewEntry& entry, Seq parent, bool known);
  Result<void> added(LogTxn& txn, const SessionRow& session, const Entry& entry);
  // After the last entry: is a compaction due where the head stands? Now and then also saves the state beside the log.
  Result<bool> finish(LogTxn& txn, const SessionRow& session, Seq head);
  // After the transaction: whether it is in the log now.
  void settle(bool stored);

  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  Result<std::shared_ptr<const compaction::RunState>> folded_at(LogTxn& txn, const SessionRow& session, Seq seq);
  Result<const compaction::RunState*> state_at(LogTxn& txn, const SessionRow& session, Seq seq);
  Result<std::optional<PreparedBody>> complete_event(compaction::Event event, const json::Value& body, const compaction::RunState& state,
                                                     const SessionRow& session, bool known);
  Result<void> check_event(compaction::Event event, const json::Value& body, const compaction::RunState& state, const SessionRow& session);
  Result<void> save_if_far(LogTxn& txn, const SessionRow& session, Seq head, const compaction::RunState& state);
  Result<std::vector<compaction::Check>> failing_at(LogTxn& txn, const SessionRow& session,
                                                    const std::shared_ptr<const compaction::RunState>& state, Seq seq);
  Result<void> check_note(LogTxn& txn, const SessionRow& session);
  Error stopped(const compaction::Stop& stop, const SessionRow& session, std::string_view what) const;
  static Result<void> check_forgiven(const json::Value& body);
  Result<void> check_pin(LogTxn& txn, const SessionRow& session, const json::Value& body, const compaction::RunState& state);

  Service& service_;
  Blobs& blobs_;
  const HeadName head_;
  const Options options_;
  json::Parser parser_;

  // The state at the entry added last, or looked at last.
  Seq seq_ = 0;
  std::uint64_t depth_ = 0;
  Digest digest_;
  bool have_ = false, stepped_ = false;
  SessionNo session_ = {};
  bool any_added_ = false, asked_for_new_ = false;
  bool relies_ = false;             // an event was added after which a check may fail that passed before
  Seq first_ = 0;                   // before the first entry added
  Seq parent_ = 0;                  // of the first entry added
  std::uint64_t steps_before_ = 0;  // of the engine
  std::shared_ptr<compaction::RunState> state_;
  std::vector<std::string> warnings_;
};

// For bodies made of what the log holds: nothing in them is masked again.
const Masker& no_masking();

// RUN_STOPPED for something that a stopped run does not take, with what a person types to open it again.
Error run_stopped(const compaction::Stop& stop, std::string_view what, const SessionId& session, const HeadName& head);
std::string resume_help(const SessionId& session, const HeadName& head);

}  // namespace weir
