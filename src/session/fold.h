// The fold engine: a pure step over the entries of one path, with its states remembered.
//
// A fold F has:  struct State;  static constexpr std::string_view kName;  static State initial();
//                static Result<void> step(State&, const Entry&);  static std::size_t bytes(const State&);
// step may be a member of an F with options. It is pure: no I/O, no clock, no chance, no globals. A state's maps are
// persistent (pmap.h), so a remembered state shares all but the last steps with the next. To be saved beside the log, F also has
//                std::string save(const State&);  Result<State> load(std::string_view);
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
#include <string_view>

#include "session/path.h"
#include "store/log.h"

namespace weir {

template <typename F>
concept SavedFold = requires(const F& fold, const typename F::State& state, std::string_view text) {
  { fold.save(state) } -> std::convertible_to<std::string>;
  { fold.load(text) } -> std::same_as<Result<typename F::State>>;
};

template <typename F>
concept BarrierFold = requires { requires F::kStartsAtBarrier; };

template <typename F>
class FoldEngine {
 public:
  using State = typename F::State;

  // A state is remembered at every leaf that was asked for and at landmarks on the way there: kStride entries before it, and
  // twice, four times, ... as far. So going back costs as much as the way back is long, and a long path keeps few states
  // (each of which makes the steps after it copy what they change). Those used longest ago go when all exceed the budget.
  static constexpr std::uint64_t kStride = 1024;
  explicit FoldEngine(std::size_t budget_bytes = std::size_t{64} << 20) : FoldEngine(F(), budget_bytes) {}
  explicit FoldEngine(F fold, std::size_t budget_bytes = std::size_t{64} << 20) : fold_(std::move(fold)), budget_bytes_(budget_bytes) {}

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
      if (is_landmark(leaf->depth - entry.depth)) remember({session, entry.seq}, entry.digest, std::make_shared<const State>(state));
      return true;
    }));
    auto result = std::make_shared<const State>(std::move(state));
    remember({session, seq}, leaf->digest, result);
    return result;
  }

  // A state that somebody else stepped, remembered like one of ours.
  void keep(SessionNo session, Seq seq, const Digest& digest, std::shared_ptr<const State> state) {
    remember({session, seq}, digest, std::move(state));
  }

  // Keeps the state at `seq` beside the log, so that another process starts from there.
  Result<void> save(LogTxn& txn, SessionNo session, Seq seq)
    requires SavedFold<F>
  {
    TRY(const auto state, at(txn, session, seq));
    return txn.save_checkpoint(session, F::kName, {seq, fold_.save(*state)});
  }
  // The same in place of all that were kept before: for a state that is large.
  Result<void> save_only(LogTxn& txn, SessionNo session, Seq seq)
    requires SavedFold<F>
  {
    TRY_DO(txn.drop_checkpoints(session, F::kName));
    return save(txn, session, seq);
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
    std::shared_ptr<const State> state;
    std::size_t bytes;
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

  void remember(const Key& key, const Digest& digest, std::shared_ptr<const State> state) {
    const std::lock_guard lock(mutex_);
    if (const auto old = index_.find(key); old != index_.end()) {
      if (old->second->digest == digest) return;
      held_bytes_ -= old->second->bytes;
      by_use_.erase(old->second);
    }
    const std::size_t bytes = F::bytes(*state) + 128;
    by_use_.push_front({key, digest, std::move(state), bytes});
    index_[key] = by_use_.begin();
    held_bytes_ += bytes;
    while (held_bytes_ > budget_bytes_ && by_use_.size() > 1) {
      held_bytes_ -= by_use_.back().bytes;
      index_.erase(by_use_.back().key);
      by_use_.pop_back();
    }
  }

  Result<std::shared_ptr<const State>> load(LogReader& reader, SessionNo session, Seq seq) {
    if constexpr (SavedFold<F>) {
      TRY(const auto row, reader.checkpoint(session, F::kName, seq));
      if (row) {
        auto state = fold_.load(row->state);
        // A cache that cannot be read is computed again.
        if (state.ok()) return std::make_shared<const State>(std::move(state).value());
      }
    }
    return std::shared_ptr<const State>();
  }

  const F fold_;
  const std::size_t budget_bytes_;
  mutable std::mutex mutex_;
  std::list<Remembered> by_use_;  // used last first
  std::map<Key, typename std::list<Remembered>::iterator> index_;
  std::size_t held_bytes_ = 0;
  std::atomic<std::uint64_t> steps_ = 0;
};

}  // namespace weir
