// A folded state as bytes and back. It is a cache beside the log: whatever does not fit is computed again.
#include <type_traits>

#include "base/secret_rules.h"
#include "ctree/nodes_fold.h"
#include "session/fold_engine.h"

namespace weir::ctree {
namespace {

using State = NodesFold::State;

// One list of members for both ways: `io` writes them or reads them. No padding is among them, so equal states are equal bytes.
template <typename Io>
void transfer(Io& io, State& state) {
  io.list(state.nodes);
  io.list(state.hashes);
  io.list(state.calls);
  io.list(state.marks);
  io.whole_list(state.systems);
  io.list(state.checkpoints);
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

template <typename T>
void put_item(std::string& out, const T& item) {
  static_assert(std::has_unique_object_representations_v<T> || std::is_same_v<T, Digest>);
  put_plain(out, item);
}
void put_item(std::string& out, const Node& node) {
  put_plain(out, node.seq);
  put_plain(out, node.turn);
  put_plain(out, node.bytes);
  for (const std::uint32_t number : {node.chars, node.unit, node.call, node.kind, node.role}) put_plain(out, number);
  unsigned char flags = 0;
  for (const bool flag : {node.result, node.control, node.is_error, node.has_content, node.makes_calls}) {
    flags = static_cast<unsigned char>(flags << 1 | (flag ? 1 : 0));
  }
  put_plain(out, flags);
}
void put_item(std::string& out, const Overlay& overlay) {
  put_plain(out, overlay.by);
  for (const bool flag : {overlay.removed, overlay.edited, overlay.has_content}) put_plain(out, flag);
  put_plain(out, overlay.chars);
  put_plain(out, overlay.bytes);
  put_plain(out, overlay.content);
}

template <typename T>
bool take_item(std::string_view& in, T& item) {
  return take_plain(in, item);
}
bool take_item(std::string_view& in, Node& node) {
  unsigned char flags = 0;
  bool ok = take_plain(in, node.seq) && take_plain(in, node.turn) && take_plain(in, node.bytes);
  for (std::uint32_t* number : {&node.chars, &node.unit, &node.call, &node.kind, &node.role}) ok = ok && take_plain(in, *number);
  if (!ok || !take_plain(in, flags)) return false;
  node.result = (flags >> 4 & 1) != 0;
  node.control = (flags >> 3 & 1) != 0;
  node.is_error = (flags >> 2 & 1) != 0;
  node.has_content = (flags >> 1 & 1) != 0;
  node.makes_calls = (flags & 1) != 0;
  return true;
}
bool take_item(std::string_view& in, bool& flag) {
  unsigned char byte = 0;
  if (!take_plain(in, byte) || byte > 1) return false;
  flag = byte == 1;
  return true;
}
bool take_item(std::string_view& in, Overlay& overlay) {
  bool ok = take_plain(in, overlay.by);
  for (bool* flag : {&overlay.removed, &overlay.edited, &overlay.has_content}) ok = ok && take_item(in, *flag);
  return ok && take_plain(in, overlay.chars) && take_plain(in, overlay.bytes) && take_plain(in, overlay.content);
}

class Writer {
 public:
  explicit Writer(PartSink* sink = nullptr) : sink_(sink) {}
  std::string out;

  template <typename T>
  void plain(const T& value) {
    put_item(out, value);
  }
  void text(std::string_view text) {
    plain(text.size());
    out += text;
  }
  template <typename T, std::size_t N>
  void list(const PVec<T, N>& list) {
    list.save(out, sink_, [](std::string& to, const T& item) { put_item(to, item); });
  }
  // Few, or too small for parts of their own: a list without any.
  template <typename T, std::size_t N>
  void whole_list(const PVec<T, N>& list) {
    plain(list.size());
    plain(std::size_t{0});
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
  void index(const IdIndex& index) { index.save(out, sink_); }
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

 private:
  PartSink* const sink_;
};

class Reader {
 public:
  Reader(std::string_view in, std::shared_ptr<Parts> parts) : in_(in), parts_(std::move(parts)) {}
  bool ok() const { return ok_ && in_.empty(); }

  template <typename T>
  void plain(T& value) {
    ok_ = ok_ && take_item(in_, value);
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
    ok_ = ok_ && list.load(in_, parts_, [](std::string_view& in, T& item) { return take_item(in, item); });
  }
  template <typename T, std::size_t N>
  void whole_list(PVec<T, N>& all) {
    list(all);
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
  void index(IdIndex& index) { ok_ = ok_ && index.load(in_, parts_); }
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
  const std::shared_ptr<Parts> parts_;
  bool ok_ = true;
};

// Options and the rules of masking decide digests, and sizes change with the program: a state of others is no state of ours.
std::string fingerprint(const NodesFold::Options& options) {
  Writer out;
  out.plain(kSecretRules);
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

std::string NodesFold::save(const State& state, PartSink* sink) const {
  Writer out(sink);
  out.out = fingerprint(options_);
  State copy = state;
  transfer(out, copy);
  return std::move(out.out);
}

Result<NodesFold::State> NodesFold::load(std::string_view saved, std::shared_ptr<Parts> parts) const {
  const std::string mark = fingerprint(options_);
  if (!saved.starts_with(mark)) return Error(ErrorCode::CORRUPT, "a saved state of other options");
  Reader in(saved.substr(mark.size()), std::move(parts));
  State state;
  transfer(in, state);
  if (!in.ok() || state.hashes.size() != state.nodes.size()) return Error(ErrorCode::CORRUPT, "a saved state of another shape");
  return state;
}

}  // namespace weir::ctree

template class weir::FoldEngine<weir::ctree::NodesFold>;
template class weir::FoldEngine<weir::AfreshFold<weir::ctree::NodesFold>>;
