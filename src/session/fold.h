// The fold engine: a pure step over the entries of one path, with its states remembered.
//
// A fold F has:  struct State;  static constexpr std::string_view kName;  static State initial();
//                static Result<void> step(State&, const Entry&);  static std::size_t bytes(const State&);
// step may be a member of an F with options. It is pure: no I/O, no clock, no chance, no globals. A state's maps are
// persistent (pmap.h), so a remembered state shares all but the last steps with the next. To be saved beside the log, F also has
//                std::string save(const State&);  Result<State> load(std::string_view);
// and if most of its state never changes again, it saves that in parts (parts.h):
//                static constexpr std::string_view kParts;
//                std::string save(const State&, PartSink*);  Result<State> load(std::string_view, std::shared_ptr<Parts>);
// If a compaction leaves nothing of the state before it, F says so with  static constexpr bool kStartsAtBarrier = true;
// and is then folded from the barrier on.
#pragma once

#include <atomic>
#include <concepts>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "session/parts.h"
#include "store/log.h"

namespace weir {

template <typename F>
concept SavedFold = requires(const F& fold, const typename F::State& state, std::string_view text) {
  { fold.save(state) } -> std::convertible_to<std::string>;
  { fold.load(text) } -> std::same_as<Result<typename F::State>>;
};

template <typename F>
concept PartedFold = SavedFold<F> && requires { F::kParts; };

template <typename F>
concept BarrierFold = requires { requires F::kStartsAtBarrier; };

// The fold without what it saved: every state is stepped from the entries.
template <typename F>
struct AfreshFold {
  using State = typename F::State;
  F inner;
  static State initial() { return F::initial(); }
  Result<void> step(State& state, const Entry& entry) const { return inner.step(state, entry); }
  static std::size_t bytes(const State& state) { return F::bytes(state); }
};

// All parts that a fold saved for a session.
Result<std::shared_ptr<Parts>> read_parts(LogReader& reader, SessionNo session, std::string_view name);

// Parts into a log. Those that a branch or a longer list left behind go when they are more than those in use: somebody else
// may still read them, and would have to fold again.
class LogPartSink final : public PartSink {
 public:
  static Result<LogPartSink> open(LogTxn& txn, SessionNo session, std::string_view name);
  bool has(PartKey key) override;
  void put(PartKey key, std::string_view bytes) override;
  Result<void> finish();

 private:
  LogPartSink(LogTxn& txn, SessionNo session, std::string_view name, std::vector<Seq> there)
      : txn_(txn), session_(session), name_(name), there_(std::move(there)) {}
  LogTxn& txn_;
  SessionNo session_;
  std::string_view name_;
  std::vector<Seq> there_;  // rising
  std::set<PartKey> used_;
  Result<void> result_;
};

// Where a state is remembered: at the leaves that were asked for last and at landmarks on the way there, kStride entries before it,
// and twice, four times, ... as far. So going back costs as much as the way back is long, and a long path keeps few states (each of
// which makes the steps after it copy what they change). Those used longest ago go when all exceed the budget: each counts what it
// does not share with the one before it on its path. What the states of the session in use share is held in any case, and if that
// is much of the budget, half of the budget is for the rest.
//
// The bodies are in fold_engine.h: whoever owns a fold includes it in one file, with `template class FoldEngine<TheFold>;`, and
// everybody else compiles none of it.
template <typename F>
class FoldEngine {
 public:
  using State = typename F::State;

  static constexpr std::uint64_t kStride = 1024;
  static constexpr int kLeaves = 16;
  static constexpr std::size_t kBudgetBytes = std::size_t{64} << 20;
  static constexpr std::size_t kStepBytes = 4096;  // what one step changes in a state that is kept: some nodes of each of its maps
  explicit FoldEngine(std::size_t budget_bytes = kBudgetBytes);
  explicit FoldEngine(F fold, std::size_t budget_bytes = kBudgetBytes);
  ~FoldEngine();
  FoldEngine(const FoldEngine&) = delete;
  FoldEngine& operator=(const FoldEngine&) = delete;

  // Parts of saved states are read from this log when they are asked for, and not all at once. It must outlive the states,
  // and answer a reading within a reading.
  void read_parts_from(Log& log) { log_ = &log; }

  // The state at an entry (0: before the first). Costs the distance to the nearest remembered ancestor. `reader` may be
  // a transaction that is taken back later: a state is only ever given for the digest it was computed for.
  Result<std::shared_ptr<const State>> at(LogReader& reader, SessionNo session, Seq seq);

  // A state that somebody else stepped, remembered like one of ours.
  void keep(SessionNo session, Seq seq, std::uint64_t depth, const Digest& digest, std::shared_ptr<const State> state);

  // Keeps the state at `seq` beside the log, so that another process starts from there. Of a fold with parts the
  // last two are kept.
  Result<void> save(LogTxn& txn, SessionNo session, Seq seq)
    requires SavedFold<F>;
  Result<void> save(LogTxn& txn, SessionNo session, Seq seq, const State& state)
    requires SavedFold<F>;
  // The state saved at `seq`; null if there is none that can be read.
  Result<std::shared_ptr<const State>> load(LogReader& reader, SessionNo session, Seq seq);

  void forget();
  std::size_t held_bytes() const;
  const F& fold() const { return fold_; }
  std::uint64_t steps() const { return steps_; }  // taken so far; for tests and benchmarks

 private:
  using Key = std::pair<SessionNo, Seq>;
  struct Remembered {
    Key key;
    Digest digest;
    std::uint64_t depth;
    std::shared_ptr<const State> state;
    std::size_t bytes;        // of all of it
    std::size_t counted = 0;  // of them, towards the budget
  };
  using Index = std::map<Key, typename std::list<Remembered>::iterator>;

  // From a state that is there (null: the initial one) over these entries.
  struct Way {
    std::shared_ptr<const State> base;
    std::vector<Seq> seqs;
  };

  static bool is_landmark(std::uint64_t before_leaf);
  static Seq first_of(const Entry& leaf);
  Result<std::vector<Seq>> saved_at(LogReader& reader, SessionNo session);
  Result<Way> straight_way(LogReader& reader, const Entry& leaf, SessionNo session, const std::vector<Seq>& saved);
  Result<Way> way_back(LogReader& reader, SessionNo session, Seq seq, const std::vector<Seq>& saved);
  Result<Result<State>> loaded(LogReader& reader, SessionNo session, const CheckpointRow& row)
    requires SavedFold<F>;

  Seq nearest(const Key& key) const;
  std::shared_ptr<const State> recall(const Key& key, const Digest& digest);
  void remember(const Key& key, std::uint64_t depth, const Digest& digest, std::shared_ptr<const State> state);
  std::uint64_t way_from_before(const typename Index::iterator& at) const;
  void thin_out_before(typename Index::iterator at);
  void count(const typename Index::iterator& at);
  std::size_t shared_in(SessionNo session) const;
  void drop(const typename Index::iterator& at);

  const F fold_;
  const std::size_t budget_bytes_;
  mutable std::mutex mutex_;
  std::list<Remembered> by_use_;  // used last first
  Index index_;
  Log* log_ = nullptr;  // null: parts are read with their state
  std::size_t held_bytes_ = 0;
  std::atomic<std::uint64_t> steps_ = 0;
};

}  // namespace weir
