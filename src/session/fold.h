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

#include <algorithm>
#include <atomic>
#include <bit>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>

#include "session/parts.h"
#include "session/path.h"
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

template <typename F>
class FoldEngine {
 public:
  using State = typename F::State;

  // A state is remembered at the leaves that were asked for last and at landmarks on the way there: kStride entries before it, and
  // twice, four times, ... as far. So going back costs as much as the way back is long, and a long path keeps few states
  // (each of which makes the steps after it copy what they change). Those used longest ago go when all exceed the budget: each
  // counts what it does not share with the one before it on its path. What the states of the session in use share is held
  // in any case, and if that is much of the budget, half of the budget is for the rest.
  static constexpr std::uint64_t kStride = 1024;
  static constexpr int kLeaves = 16;
  explicit FoldEngine(std::size_t budget_bytes = std::size_t{64} << 20) : FoldEngine(F(), budget_bytes) {}
  explicit FoldEngine(F fold, std::size_t budget_bytes = std::size_t{64} << 20) : fold_(std::move(fold)), budget_bytes_(budget_bytes) {}

  // Parts of saved states are read from this log when they are asked for, and not all at once. It must outlive the states,
  // and answer a reading within a reading.
  void read_parts_from(Log& log) { log_ = &log; }

  // The state at an entry (0: before the first). Costs the distance to the nearest remembered ancestor. `reader` may be
  // a transaction that is taken back later: a state is only ever given for the digest it was computed for.
  Result<std::shared_ptr<const State>> at(LogReader& reader, SessionNo session, Seq seq) {
    if (seq == 0) return std::make_shared<const State>(F::initial());
    TRY(const auto leaf, reader.entry(session, seq, Columns::without_body));
    if (!leaf)
      return Error(ErrorCode::CORRUPT, "the entry at seq " + std::to_string(seq) + " is missing")
          .with("seq", static_cast<std::int64_t>(seq));
    if (auto state = recall({session, seq}, leaf->digest)) return state;
    TRY(const std::vector<Seq> saved, saved_at(reader, session));
    // A path as long as its last seq holds every entry up to it: nothing has to be walked to know it.
    Way way;
    if (leaf->depth == leaf->seq) {
      TRY(way, straight_way(reader, *leaf, session, saved));
    } else {
      TRY(way, way_back(reader, session, seq, saved));
    }
    State state = way.base == nullptr ? F::initial() : *way.base;
    TRY_DO(walk(reader, session, way.seqs, Columns::all, [&](Entry& entry) -> Result<bool> {
      TRY_DO(fold_.step(state, entry));
      ++steps_;
      if (is_landmark(leaf->depth - entry.depth))
        remember({session, entry.seq}, entry.depth, entry.digest, std::make_shared<const State>(state));
      return true;
    }));
    auto result = std::make_shared<const State>(std::move(state));
    remember({session, seq}, leaf->depth, leaf->digest, result);
    return result;
  }

  // A state that somebody else stepped, remembered like one of ours.
  void keep(SessionNo session, Seq seq, std::uint64_t depth, const Digest& digest, std::shared_ptr<const State> state) {
    remember({session, seq}, depth, digest, std::move(state));
  }

  // Keeps the state at `seq` beside the log, so that another process starts from there. A fold with parts keeps one state.
  Result<void> save(LogTxn& txn, SessionNo session, Seq seq)
    requires SavedFold<F>
  {
    TRY(const auto state, at(txn, session, seq));
    return save(txn, session, seq, *state);
  }
  Result<void> save(LogTxn& txn, SessionNo session, Seq seq, const State& state)
    requires SavedFold<F>
  {
    if constexpr (PartedFold<F>) {
      TRY(LogPartSink sink, LogPartSink::open(txn, session, F::kParts));
      const std::string root = fold_.save(state, &sink);
      TRY_DO(sink.finish());
      TRY_DO(txn.drop_checkpoints(session, F::kName));
      return txn.save_checkpoint(session, F::kName, {seq, root});
    } else {
      return txn.save_checkpoint(session, F::kName, {seq, fold_.save(state)});
    }
  }
  // The state saved at `seq`; null if there is none that can be read.
  Result<std::shared_ptr<const State>> load(LogReader& reader, SessionNo session, Seq seq) {
    if constexpr (SavedFold<F>) {
      TRY(const auto row, reader.checkpoint(session, F::kName, seq));
      if (row) {
        TRY(auto state, loaded(reader, session, *row));
        // A cache that cannot be read is computed again.
        if (state.ok()) return std::make_shared<const State>(std::move(state).value());
      }
    }
    return std::shared_ptr<const State>();
  }

  void forget() {
    const std::lock_guard lock(mutex_);
    by_use_.clear();
    index_.clear();
    held_bytes_ = 0;
  }
  std::size_t held_bytes() const {
    const std::lock_guard lock(mutex_);
    return held_bytes_;
  }
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

  // What one step changes in a state that is kept: some nodes of each of its maps.
  static constexpr std::size_t kStepBytes = 4096;

  // Parts in the log that the engine reads. One that is gone is made again from the entries, with all the others.
  class LogParts final : public Parts {
   public:
    LogParts(Log& log, SessionNo session, Seq seq, const F& fold) : log_(log), session_(session), seq_(seq), fold_(fold) {}
    bool may_have(PartKey) override { return true; }
    std::string read(PartKey key) override {
      std::optional<CheckpointRow> row;
      const auto done = log_.read([&](LogReader& reader) -> Result<void> {
        TRY(row, reader.checkpoint(session_, F::kParts, key));
        return {};
      });
      if (done.ok() && row && part_key(row->state) == key) return std::move(row->state);
      const std::lock_guard lock(mutex_);
      if (made_ == nullptr) make();
      return made_->read(key);
    }

   private:
    void make() {
      MapPartSink sink;
      const auto done = log_.read([&](LogReader& reader) -> Result<void> {
        FoldEngine<AfreshFold<F>> afresh(AfreshFold<F>{fold_}, 0);
        TRY(const auto state, afresh.at(reader, session_, seq_));
        fold_.save(*state, &sink);
        return {};
      });
      if (!done.ok()) throw PartLost{done.error()};
      made_ = std::make_unique<PartMap>(std::move(sink.parts));
    }

    Log& log_;
    const SessionNo session_;
    const Seq seq_;
    const F fold_;
    std::mutex mutex_;
    std::unique_ptr<PartMap> made_;
  };

  // From a state that is there (null: the initial one) over these entries.
  struct Way {
    std::shared_ptr<const State> base;
    std::vector<Seq> seqs;
  };

  Result<std::vector<Seq>> saved_at(LogReader& reader, SessionNo session) {
    if constexpr (SavedFold<F>) return reader.checkpoints(session, F::kName);
    return std::vector<Seq>();
  }

  static bool is_landmark(std::uint64_t before_leaf) { return before_leaf % kStride == 0 && std::has_single_bit(before_leaf / kStride); }

  // The first entry that has a part in the state at `leaf`.
  static Seq first_of(const Entry& leaf) { return BarrierFold<F> && leaf.barrier != 0 ? leaf.barrier : 1; }

  Result<Way> straight_way(LogReader& reader, const Entry& leaf, SessionNo session, const std::vector<Seq>& saved) {
    Way way;
    Seq from = first_of(leaf) - 1;
    if (const Seq near = nearest({session, leaf.seq}); near > from) {
      TRY(const auto entry, reader.entry(session, near, Columns::without_body));
      if (entry) way.base = recall({session, near}, entry->digest);
      if (way.base != nullptr) from = near;
    }
    for (auto it = saved.rbegin(); it != saved.rend() && *it > from; ++it) {
      if (*it > leaf.seq) continue;
      TRY(auto loaded, load(reader, session, *it));
      if (loaded == nullptr) continue;
      way.base = std::move(loaded);
      from = *it;
    }
    way.seqs.reserve(leaf.seq - from);
    for (Seq at = from + 1; at <= leaf.seq; ++at) way.seqs.push_back(at);
    return way;
  }

  Result<Way> way_back(LogReader& reader, SessionNo session, Seq seq, const std::vector<Seq>& saved) {
    Way way;
    TRY_DO(walk_back(reader, session, seq, Columns::without_body, [&](Entry& entry) -> Result<bool> {
      if (entry.seq != seq) way.base = recall({session, entry.seq}, entry.digest);
      if (way.base == nullptr && std::binary_search(saved.begin(), saved.end(), entry.seq)) {
        TRY(way.base, load(reader, session, entry.seq));
      }
      if (way.base == nullptr) way.seqs.push_back(entry.seq);
      return way.base == nullptr && !(BarrierFold<F> && entry.seq == entry.barrier);
    }));
    std::reverse(way.seqs.begin(), way.seqs.end());
    return way;
  }

  // The last seq up to this one for which a state is remembered; 0 for none.
  Seq nearest(const Key& key) const {
    const std::lock_guard lock(mutex_);
    auto it = index_.upper_bound(key);
    if (it == index_.begin()) return 0;
    --it;
    return it->first.first == key.first ? it->first.second : 0;
  }

  std::shared_ptr<const State> recall(const Key& key, const Digest& digest) {
    const std::lock_guard lock(mutex_);
    const auto it = index_.find(key);
    if (it == index_.end() || it->second->digest != digest) return nullptr;
    by_use_.splice(by_use_.begin(), by_use_, it->second);
    return it->second->state;
  }

  void remember(const Key& key, std::uint64_t depth, const Digest& digest, std::shared_ptr<const State> state) {
    const std::lock_guard lock(mutex_);
    if (const auto old = index_.find(key); old != index_.end()) {
      if (old->second->digest == digest) return;
      drop(old);
    }
    const std::size_t bytes = F::bytes(*state) + 128;
    by_use_.push_front({key, digest, depth, std::move(state), bytes});
    const auto at = index_.emplace(key, by_use_.begin()).first;
    count(at);
    if (const auto next = std::next(at); next != index_.end()) count(next);
    thin_out_before(at);
    while (by_use_.size() > 1 && held_bytes_ > std::max(budget_bytes_, shared_in(key.first) + budget_bytes_ / 2))
      drop(index_.find(by_use_.back().key));
  }

  // How many entries lie between the state and the one remembered before it on the same straight path; 0 if there is none.
  std::uint64_t way_from_before(const typename Index::iterator& at) const {
    if (at == index_.begin()) return 0;
    const Remembered &state = *at->second, &before = *std::prev(at)->second;
    const std::uint64_t far = state.key.second - before.key.second;
    return before.key.first == state.key.first && state.depth - before.depth == far ? far : 0;
  }

  // A session that grows entry by entry is asked for at each of them. Of those leaves the last few are kept and then one in each
  // stride, as on a path that was walked at once.
  void thin_out_before(typename Index::iterator at) {
    for (int leaves = 0; leaves < kLeaves; ++leaves) {
      if (way_from_before(at) == 0) return;
      --at;
    }
    if (const std::uint64_t far = way_from_before(at); far != 0 && far < kStride) drop(at);
  }

  // What the state adds to those of its session that are held: all of it, if it is the first or on another branch.
  void count(const typename Index::iterator& at) {
    Remembered& state = *at->second;
    held_bytes_ -= state.counted;
    state.counted = state.bytes;
    if (const std::uint64_t far = way_from_before(at); far != 0) {
      const std::size_t before = std::prev(at)->second->bytes, grown = state.bytes - std::min(state.bytes, before);
      state.counted = std::min<std::size_t>(state.bytes, sizeof(State) + grown + far * kStepBytes);
    }
    held_bytes_ += state.counted;
  }

  // What dropping any but the last of the session's states would not free.
  std::size_t shared_in(SessionNo session) const { return index_.lower_bound({session, 0})->second->counted; }

  void drop(const typename Index::iterator& at) {
    held_bytes_ -= at->second->counted;
    by_use_.erase(at->second);
    if (const auto next = index_.erase(at); next != index_.end()) count(next);
  }

  Result<Result<State>> loaded(LogReader& reader, SessionNo session, const CheckpointRow& row) {
    if constexpr (PartedFold<F>) {
      std::shared_ptr<Parts> parts;
      if (log_ != nullptr) {
        parts = std::make_shared<LogParts>(*log_, session, row.seq, fold_);
      } else {
        TRY(parts, read_parts(reader, session, F::kParts));
      }
      return fold_.load(row.state, std::move(parts));
    } else {
      return fold_.load(row.state);
    }
  }

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
