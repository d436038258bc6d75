// One research run as a step sees it: the state at its head, its directory, and the one way to change both. The log comes
// first: a step appends, then the directory follows; what a crash leaves between the two is made good by the next step.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "research/gates.h"
#include "research/mirror.h"
#include "service/append.h"
#include "service/run_dir.h"
#include "service/service.h"

namespace weir {

// Which run, and what every step may be told.
struct RunCall {
  SessionId run;
  std::optional<HeadName> head;  // without one: the one it was begun at
  std::string root;              // its directory, absolute
  std::string reason;            // empty: none
  std::optional<std::uint64_t> expect_revision;
  bool dry_run = false;
};

// Texts and states that the log holds, and those about to be appended.
class RunContents final : public research::Contents {
 public:
  explicit RunContents(Service& service) : service_(service) {}
  void read_from(SessionNo session) { session_ = session; }

  Result<json::Value> member(Seq entry, std::string_view path, json::Arena& arena) override;
  Result<std::shared_ptr<const research::State>> state_at(Seq entry) override;
  // An entry that is not in the log yet, and the state there.
  void put(Seq entry, json::Value body, std::shared_ptr<const research::State> state) { pending_[entry] = {body, std::move(state)}; }
  void clear() { pending_.clear(); }

 private:
  struct Pending {
    json::Value body;
    std::shared_ptr<const research::State> state;
  };
  Service& service_;
  SessionNo session_;
  std::map<Seq, Pending> pending_;
};

// The files of a run as a state would have them.
class LoggedFiles final : public research::RunFiles {
 public:
  LoggedFiles(const research::State& state, research::Contents& contents);
  Result<research::RunFile> read(const std::string& path) override;

 private:
  const research::State& state_;
  research::Contents& contents_;
  std::map<std::string, research::FileSpec, std::less<>> specs_;
};

// An entry a step makes. Large members leave for blobs by themselves.
struct RunEntry {
  std::string_view type;
  json::Value body;
};

class ResearchRun {
 public:
  // NOT_FOUND unless `may_begin` or there is a run.
  static Result<std::unique_ptr<ResearchRun>> open(Service& service, const RunCall& call, bool may_begin);

  const research::State& state() const { return *state_; }
  const research::Limits& limits() const { return limits_; }
  const RunCall& call() const { return call_; }
  const HeadName& head() const { return head_; }
  SessionNo session() const { return session_; }
  Seq head_seq() const { return head_seq_; }
  Service& service() { return service_; }
  const Masker& masker() const { return service_.masker(); }
  RunDir& dir() { return dir_; }
  RunContents& contents() { return contents_; }
  const research::Pool& pool();
  void without_citations() { pool_ = research::Pool(); }  // their file is gone
  // What the log holds of both waves.
  Result<const research::Perspectives*> perspectives();
  Result<research::GateInputs> gate_inputs(research::RunFiles& files);
  Result<research::GateAnswer> evaluate(char gate, research::RunFiles& files, json::Arena& arena, research::Bundle* bundle = nullptr);

  // Is this the head whose state the directory mirrors?
  bool at_home() const { return state_->head.empty() || state_->head == head_.str(); }
  // REVISION_MISMATCH unless the run is where the caller expects it.
  Result<void> check_revision() const;
  // Before a step that writes: REVISION_MISMATCH, PAUSED, RUN_CANCELLED, INVALID_STATE. `patching`: only the revision counts.
  Result<void> check_open(bool patching = false) const;
  // Makes the directory what the log says it is, as far as nobody changed it by hand; ARTIFACT_CHANGED for what was.
  Result<void> settle() { return settle(true); }
  // The same only where a crash or another head explains what is there: a directory without a manifest is left alone.
  Result<void> settle_known() { return settle(false); }
  // Puts back those of these files that are gone; ARTIFACT_CHANGED for one that was changed.
  Result<void> restore(const std::vector<std::string>& paths);
  // Is this file there exactly as far as the log has it?
  Result<bool> is_logged(const std::string& path);
  // What is in the directory is taken over: the next commit may write over it.
  void adopt_files() { adopting_ = true; }
  // Is this file the log's? ARTIFACT_CHANGED if not.
  Result<void> check_unchanged(const std::string& path);

  struct Committed {
    std::uint64_t revision = 0, gates_revision = 0;
    std::string stage, status;
    std::vector<EntryId> entries;
    TimeMs at;
  };
  // Appends the entries as one call and lets the directory follow. CONFLICT if the head moved since this was opened.
  Result<Committed> commit(const std::vector<RunEntry>& entries, json::Arena& arena);
  // CONFLICT if the head moved since this was opened: what was seen may be half of one step and half of another.
  Result<void> check_still() const;
  // What it would answer if nothing was appended.
  Committed as_it_is() const;

  // The root that a manifest's bytes name; the run's own if they name none.
  std::string root_in(std::string_view manifest) const;
  // Did the log ever hold these bytes under that path?
  Result<bool> ever_held(const std::string& path, std::string_view bytes);
  // The bytes that the state has for a path, if it has the path; the root in a manifest is the one given.
  Result<std::optional<std::string>> logged(const std::string& path, const std::string& root);

 private:
  ResearchRun(Service& service, RunCall call);
  Result<void> load(bool may_begin);
  Result<json::Value> shorten(const json::Value& body, AppendCall& append, json::Arena& arena);
  Result<std::string> stage_after(const research::State& after, const std::vector<RunEntry>& entries);
  Result<std::vector<RunDir::NewFile>> changes(const research::State& after);
  Result<void> reconcile();
  Result<void> follow(Seq head);
  Result<Committed> found_again();
  Result<void> settle(bool missing_too);
  Result<void> remove_leftovers();
  // Every file of the state, by path.
  const std::map<std::string, research::FileSpec, std::less<>>& specs();

  Service& service_;
  RunCall call_;
  SessionNo session_;
  HeadName head_;
  Seq head_seq_ = 0, last_seq_ = 0;
  EntryId head_id_;
  std::optional<Digest> head_digest_;
  std::shared_ptr<const research::State> state_;
  research::Limits limits_;
  std::optional<research::Pool> pool_;
  json::Arena documents_;
  std::optional<research::Perspectives> perspectives_;
  RunContents contents_;
  RunDir dir_;
  std::optional<std::map<std::string, research::FileSpec, std::less<>>> specs_;
  bool adopting_ = false;
  std::vector<std::string> removals_;  // files that go when the directory follows
};

struct GateFreshness {
  std::string status = "not_run";
  bool fresh = false;
  bool passes_today = false;         // of B, C and D
  std::vector<std::string> changed;  // members of its inputs
};
// Would a gate look at the same today as when it was recorded?
Result<GateFreshness> gate_freshness(ResearchRun& run, char gate);

inline constexpr int kMostTries = 16;
// So that those who lost a race do not all run the next one at once.
void wait_a_little(Service& service, int attempt);

// The step, tried again from the start while others are faster: 16 times, then CONFLICT. With an expected revision, once.
template <typename Answer>
Result<Answer> research_step(Service& service, const RunCall& call, bool may_begin, FunctionRef<Result<Answer>(ResearchRun&)> step) {
  for (int attempt = 1;; ++attempt) {
    TRY(const auto run, ResearchRun::open(service, call, may_begin));
    auto answer = step(*run);
    if (answer.ok() || answer.error().code() != ErrorCode::CONFLICT || attempt == kMostTries) return answer;
    wait_a_little(service, attempt);
  }
}

}  // namespace weir
