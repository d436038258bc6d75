// A folded state as bytes and back. It is a cache beside the log: whatever does not fit is computed again.
#include <cstring>
#include <type_traits>

#include "ctree/nodes_fold.h"

namespace weir::ctree {
namespace {

using State = NodesFold::State;

// One list of members for both ways: `io` writes them or reads them.
template <typename Io>
void transfer(Io& io, State& state) {
  io.list(state.nodes);
  io.list(state.hashes);
  io.list(state.calls);
  io.list(state.marks);
  io.list(state.systems);
  io.plain(state.last);
  io.plain(state.turns);
  io.words(state.words);
  io.map(state.kind_counts);
  for (IdIndex* index : {&state.entries, &state.call_aliases, &state.callers, &state.task_aliases, &state.compactions}) io.index(*index);
  io.named(state.given_ids);
  io.map(state.joined);
  io.lists(state.more_calls);
  io.map(state.edits);
  io.map(state.attached);
  io.map(state.pins);
  io.plain(state.call_count);
  io.plain(state.task_count);
  io.plain(state.edits_without_target);
  io.checkpoint(state.checkpoint);
  io.plain(state.manifest);
  io.plain(state.failed_since_manifest);
}

class Writer {
 public:
  std::string out;

  template <typename T>
  void plain(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(std::string_view text) {
    plain(text.size());
    out += text;
  }
  template <typename T, std::size_t N>
  void list(const PVec<T, N>& list) {
    plain(list.size());
    list.each(0, list.size(), [&](std::size_t, const T& item) { plain(item); });
  }
  template <typename K, typename V>
  void map(const PMap<K, V>& map) {
    plain(map.size());
    map.each([&](const K& key, const V& value) {
      plain(key);
      plain(value);
    });
  }
  void words(const Words& words) {
    plain(words.size());
    for (Word word = 1; word <= words.size(); ++word) text(words.text(word));
  }
  void index(const IdIndex& index) { text(index.save()); }
  void named(const PMap<std::string, Ordinal>& map) {
    plain(map.size());
    map.each([&](const std::string& key, Ordinal value) {
      text(key);
      plain(value);
    });
  }
  void ordinals(const std::vector<Ordinal>& list) {
    plain(list.size());
    for (const Ordinal item : list) plain(item);
  }
  void lists(const PMap<Ordinal, std::vector<Ordinal>>& map) {
    plain(map.size());
    map.each([&](Ordinal key, const std::vector<Ordinal>& value) {
      plain(key);
      ordinals(value);
    });
  }
  void checkpoint(const std::optional<Checkpoint>& checkpoint) {
    plain(checkpoint.has_value());
    if (!checkpoint) return;
    for (const bool flag : {checkpoint->has_replacement, checkpoint->has_kept, checkpoint->has_narrative, checkpoint->opaque}) plain(flag);
    plain(checkpoint->ordinal);
    plain(checkpoint->first_kept);
    plain(checkpoint->narrative_by);
    text(checkpoint->snapshot_id);
    ordinals(checkpoint->kept == nullptr ? std::vector<Ordinal>() : *checkpoint->kept);
  }
};

class Reader {
 public:
  explicit Reader(std::string_view in) : in_(in) {}
  bool ok() const { return ok_ && in_.empty(); }

  template <typename T>
  void plain(T& value) {
    ok_ &= in_.size() >= sizeof value;
    if (!ok_) return;
    std::memcpy(&value, in_.data(), sizeof value);
    in_.remove_prefix(sizeof value);
  }
  std::string_view text() {
    const std::size_t size = count();
    ok_ &= in_.size() >= size;
    if (!ok_) return {};
    const std::string_view out = in_.substr(0, size);
    in_.remove_prefix(size);
    return out;
  }
  template <typename T, std::size_t N>
  void list(PVec<T, N>& list) {
    for (std::size_t left = count(); ok_ && left > 0; --left) list.push_back(one<T>());
  }
  template <typename K, typename V>
  void map(PMap<K, V>& map) {
    for (std::size_t left = count(); ok_ && left > 0; --left) {
      const K key = one<K>();
      map.set(key, one<V>());
    }
  }
  void words(Words& words) {
    for (std::size_t left = count(); ok_ && left > 0; --left) words.of(text());
  }
  void index(IdIndex& index) {
    auto loaded = IdIndex::load(text());
    ok_ &= loaded.has_value();
    if (loaded) index = std::move(*loaded);
  }
  void named(PMap<std::string, Ordinal>& map) {
    for (std::size_t left = count(); ok_ && left > 0; --left) {
      const std::string key(text());
      map.set(key, one<Ordinal>());
    }
  }
  std::vector<Ordinal> ordinals() {
    std::vector<Ordinal> out;
    for (std::size_t left = count(); ok_ && left > 0; --left) out.push_back(one<Ordinal>());
    return out;
  }
  void lists(PMap<Ordinal, std::vector<Ordinal>>& map) {
    for (std::size_t left = count(); ok_ && left > 0; --left) {
      const Ordinal key = one<Ordinal>();
      map.set(key, ordinals());
    }
  }
  void checkpoint(std::optional<Checkpoint>& checkpoint) {
    if (!one<bool>()) return;
    checkpoint.emplace();
    for (bool* flag : {&checkpoint->has_replacement, &checkpoint->has_kept, &checkpoint->has_narrative, &checkpoint->opaque}) plain(*flag);
    plain(checkpoint->ordinal);
    plain(checkpoint->first_kept);
    plain(checkpoint->narrative_by);
    checkpoint->snapshot_id = text();
    checkpoint->kept = std::make_shared<const std::vector<Ordinal>>(ordinals());
  }

 private:
  template <typename T>
  T one() {
    T value{};
    plain(value);
    return value;
  }
  std::size_t count() { return one<std::size_t>(); }

  std::string_view in_;
  bool ok_ = true;
};

// Options decide digests, and sizes change with the program: a state of others is no state of ours.
std::string fingerprint(const NodesFold::Options& options) {
  Writer out;
  out.text(options.key_id);
  out.text(sha256(options.key).bytes());
  for (const auto* list : {&options.sanitise.secret_keys, &options.sanitise.volatile_keys}) {
    out.plain(list->size());
    for (const std::string& key : *list) out.text(key);
  }
  for (const std::size_t size : {sizeof(Node), sizeof(NodeHashes), sizeof(CallList), sizeof(Overlay)}) out.plain(size);
  return sha256(out.out).hex();
}

}  // namespace

std::string NodesFold::save(const State& state) const {
  Writer out;
  out.out = fingerprint(options_);
  State copy = state;
  transfer(out, copy);
  return std::move(out.out);
}

Result<NodesFold::State> NodesFold::load(std::string_view saved) const {
  const std::string mark = fingerprint(options_);
  if (!saved.starts_with(mark)) return Error(ErrorCode::CORRUPT, "a saved state of other options");
  Reader in(saved.substr(mark.size()));
  State state;
  transfer(in, state);
  if (!in.ok() || state.hashes.size() != state.nodes.size()) return Error(ErrorCode::CORRUPT, "a saved state of another shape");
  return state;
}

}  // namespace weir::ctree
