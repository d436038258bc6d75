// The bodies of FoldEngine, for the one file that owns a fold.
#pragma once

#include <algorithm>
#include <bit>
#include <optional>

#include "session/fold.h"
#include "session/path.h"

namespace weir {

// Parts in the log that the engine reads. One that is gone is made again from the entries, with all the others.
template <PartedFold F>
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

template <typename F>
FoldEngine<F>::FoldEngine(std::size_t budget_bytes) : FoldEngine(F(), budget_bytes) {}

template <typename F>
FoldEngine<F>::FoldEngine(F fold, std::size_t budget_bytes) : fold_(std::move(fold)), budget_bytes_(budget_bytes) {}

template <typename F>
FoldEngine<F>::~FoldEngine() = default;

template <typename F>
Result<std::shared_ptr<const typename FoldEngine<F>::State>> FoldEngine<F>::at(LogReader& reader, SessionNo session, Seq seq) {
  if (seq == 0) return std::make_shared<const State>(F::initial());
  TRY(const auto leaf, reader.entry(session, seq, Columns::without_body));
  if (!leaf) return missing_entry(reader, session, seq);
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

template <typename F>
void FoldEngine<F>::keep(SessionNo session, Seq seq, std::uint64_t depth, const Digest& digest, std::shared_ptr<const State> state) {
  remember({session, seq}, depth, digest, std::move(state));
}

template <typename F>
Result<void> FoldEngine<F>::save(LogTxn& txn, SessionNo session, Seq seq)
  requires SavedFold<F>
{
  TRY(const auto state, at(txn, session, seq));
  return save(txn, session, seq, *state);
}

template <typename F>
Result<void> FoldEngine<F>::save(LogTxn& txn, SessionNo session, Seq seq, const State& state)
  requires SavedFold<F>
{
  if constexpr (PartedFold<F>) {
    TRY(LogPartSink sink, LogPartSink::open(txn, session, F::kParts));
    const std::string root = fold_.save(state, &sink);
    TRY_DO(sink.finish());
    // The one before stays: whoever goes back a little, to before a compaction, need not fold everything for it.
    TRY(auto saved, txn.checkpoints(session, F::kName));
    std::erase(saved, seq);
    if (!saved.empty()) saved.pop_back();
    for (const Seq old : saved) TRY_DO(txn.drop_checkpoint(session, F::kName, old));
    return txn.save_checkpoint(session, F::kName, {seq, root});
  } else {
    return txn.save_checkpoint(session, F::kName, {seq, fold_.save(state)});
  }
}

template <typename F>
Result<std::shared_ptr<const typename FoldEngine<F>::State>> FoldEngine<F>::load(LogReader& reader, SessionNo session, Seq seq) {
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

template <typename F>
void FoldEngine<F>::forget() {
  const std::lock_guard lock(mutex_);
  by_use_.clear();
  index_.clear();
  held_bytes_ = 0;
}

template <typename F>
std::size_t FoldEngine<F>::held_bytes() const {
  const std::lock_guard lock(mutex_);
  return held_bytes_;
}

template <typename F>
Result<std::vector<Seq>> FoldEngine<F>::saved_at(LogReader& reader, SessionNo session) {
  if constexpr (SavedFold<F>) return reader.checkpoints(session, F::kName);
  return std::vector<Seq>();
}

template <typename F>
bool FoldEngine<F>::is_landmark(std::uint64_t before_leaf) {
  return before_leaf % kStride == 0 && std::has_single_bit(before_leaf / kStride);
}

// The first entry that has a part in the state at `leaf`.
template <typename F>
Seq FoldEngine<F>::first_of(const Entry& leaf) {
  return BarrierFold<F> && leaf.barrier != 0 ? leaf.barrier : 1;
}

template <typename F>
Result<typename FoldEngine<F>::Way> FoldEngine<F>::straight_way(LogReader& reader, const Entry& leaf, SessionNo session,
                                                                const std::vector<Seq>& saved) {
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

template <typename F>
Result<typename FoldEngine<F>::Way> FoldEngine<F>::way_back(LogReader& reader, SessionNo session, Seq seq, const std::vector<Seq>& saved) {
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
template <typename F>
Seq FoldEngine<F>::nearest(const Key& key) const {
  const std::lock_guard lock(mutex_);
  auto it = index_.upper_bound(key);
  if (it == index_.begin()) return 0;
  --it;
  return it->first.first == key.first ? it->first.second : 0;
}

template <typename F>
std::shared_ptr<const typename FoldEngine<F>::State> FoldEngine<F>::recall(const Key& key, const Digest& digest) {
  const std::lock_guard lock(mutex_);
  const auto it = index_.find(key);
  if (it == index_.end() || it->second->digest != digest) return nullptr;
  by_use_.splice(by_use_.begin(), by_use_, it->second);
  return it->second->state;
}

template <typename F>
void FoldEngine<F>::remember(const Key& key, std::uint64_t depth, const Digest& digest, std::shared_ptr<const State> state) {
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
template <typename F>
std::uint64_t FoldEngine<F>::way_from_before(const typename Index::iterator& at) const {
  if (at == index_.begin()) return 0;
  const Remembered &state = *at->second, &before = *std::prev(at)->second;
  const std::uint64_t far = state.key.second - before.key.second;
  return before.key.first == state.key.first && state.depth - before.depth == far ? far : 0;
}

// A session that grows entry by entry is asked for at each of them. Of those leaves the last few are kept and then one in each
// stride, as on a path that was walked at once.
template <typename F>
void FoldEngine<F>::thin_out_before(typename Index::iterator at) {
  for (int leaves = 0; leaves < kLeaves; ++leaves) {
    if (way_from_before(at) == 0) return;
    --at;
  }
  if (const std::uint64_t far = way_from_before(at); far != 0 && far < kStride) drop(at);
}

// What the state adds to those of its session that are held: all of it, if it is the first or on another branch.
template <typename F>
void FoldEngine<F>::count(const typename Index::iterator& at) {
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
template <typename F>
std::size_t FoldEngine<F>::shared_in(SessionNo session) const {
  return index_.lower_bound({session, 0})->second->counted;
}

template <typename F>
void FoldEngine<F>::drop(const typename Index::iterator& at) {
  held_bytes_ -= at->second->counted;
  by_use_.erase(at->second);
  if (const auto next = index_.erase(at); next != index_.end()) count(next);
}

template <typename F>
Result<Result<typename FoldEngine<F>::State>> FoldEngine<F>::loaded(LogReader& reader, SessionNo session, const CheckpointRow& row)
  requires SavedFold<F>
{
  if constexpr (PartedFold<F>) {
    std::shared_ptr<Parts> parts;
    if (log_ != nullptr) {
      parts = std::make_shared<LogParts<F>>(*log_, session, row.seq, fold_);
    } else {
      TRY(parts, read_parts(reader, session, F::kParts));
    }
    return fold_.load(row.state, std::move(parts));
  } else {
    return fold_.load(row.state);
  }
}

}  // namespace weir
