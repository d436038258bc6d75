// The nodes of a path: the fold behind every stage. One entry makes one node or none; its digest, hashes and measures are
// worked out here, once, and the running node_hash pins all nodes up to it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ctree/node.h"
#include "ctree/sanitise.h"
#include "json/digest.h"
#include "session/id_index.h"
#include "session/pmap.h"
#include "session/pvec.h"
#include "store/entry.h"

namespace weir::ctree {

// Texts of which there are few, each kept once.
class Words {
 public:
  static constexpr Word kUnknown = 0xFFFFFFFF;

  Word of(std::string_view text);          // 0 for an empty one
  Word find(std::string_view text) const;  // kUnknown if it was never met
  std::string_view text(Word word) const { return word == 0 ? std::string_view() : std::string_view(texts_[word - 1]); }
  std::size_t size() const { return texts_.size(); }
  std::size_t bytes() const { return texts_.size() * 160; }

 private:
  PMap<std::string, Word> index_;
  PVec<std::string, 16> texts_;
};

// The last compaction, and what its host kept of what came before.
struct Checkpoint {
  Ordinal ordinal = kNoNode;
  bool has_replacement = false, has_kept = false, has_narrative = false, opaque = false;
  std::string snapshot_id;                           // its own or attached; empty: none
  Ordinal first_kept = kNoNode;                      // of the window, if it lies before
  std::shared_ptr<const std::vector<Ordinal>> kept;  // rising
  Seq narrative_by = 0;                              // the entry that attached one
};

struct NodesFold {
  static constexpr std::string_view kName = "nodes.v3", kParts = "nodes.v3.parts";

  struct State {
    // So many maps are copied and destroyed in code that is compiled once, in the .cc.
    State();
    State(const State&);
    State(State&&) noexcept;
    State& operator=(const State&);
    State& operator=(State&&) noexcept;
    ~State();

    PVec<Node> nodes;
    PVec<NodeHashes> hashes;
    PVec<CallList> calls;
    Digest last;              // node_hash after the last node
    PVec<Digest, 32> marks;   // and after every 32nd
    std::uint64_t turns = 0;  // messages in which a person speaks
    Words words;
    PMap<Word, std::uint32_t> kind_counts;
    IdIndex entries;                // entry -> twice the ordinal of the first node from it on, + 1 if it made that
    IdIndex call_aliases, callers;  // call id -> alias; -> the message that made it last
    IdIndex task_aliases;
    IdIndex compactions;  // entry pointer -> node
    PMap<std::string, Ordinal> given_ids;
    PMap<Ordinal, Ordinal> joined;                   // unit -> the unit it became part of
    PMap<Ordinal, std::vector<Ordinal>> more_calls;  // of a message with several results: the callers
    PMap<Ordinal, Overlay> edits, attached;
    PMap<Ordinal, bool> pins;   // by label
    PVec<Ordinal, 16> systems;  // system messages
    PVec<Ordinal> checkpoints;  // compactions
    std::uint32_t call_count = 0, task_count = 0, edits_without_target = 0;
    std::optional<Checkpoint> checkpoint;
    // What makes no node: the last manifest, whether something failed since, whether the run has ended.
    Seq manifest = 0;
    bool failed_since_manifest = false;

    std::size_t size() const { return nodes.size(); }
    Ordinal unit_of(Ordinal ordinal) const { return unit_of(nodes[ordinal]); }
    Ordinal unit_of(const Node& node) const;
    std::string id(Ordinal ordinal) const { return node_id(ordinal, hashes[ordinal].digest); }
    // The edit or attached narrative that gives the node another content, if any.
    const Overlay* overlay(Ordinal ordinal) const;
    bool removed(Ordinal ordinal) const;
    std::uint64_t bytes(Ordinal ordinal) const;
    std::uint32_t chars(Ordinal ordinal) const;
    // The node of that id, if it is on the path.
    std::optional<Ordinal> find(std::string_view id) const;
    // The node an entry made.
    std::optional<Ordinal> of_entry(std::string_view entry) const;
  };

  struct Options {
    Sanitiser::Options sanitise;
    std::string key_id, key;  // of a keyed hash; both empty: none
    bool operator==(const Options&) const = default;
  };

  NodesFold() : NodesFold(Options{}) {}
  explicit NodesFold(Options options);

  static State initial() { return {}; }
  Result<void> step(State& state, const Entry& entry) const;
  static std::size_t bytes(const State& state);
  // Of them, what is written whenever the state is saved.
  static std::size_t root_bytes(const State& state);
  // Beside the log, for another process: the state as bytes of this machine, with the options it was folded under. Without a
  // sink all of it is in them.
  std::string save(const State& state, PartSink* sink = nullptr) const;
  Result<State> load(std::string_view saved, std::shared_ptr<Parts> parts = nullptr) const;

  // node_hash of the first `count` nodes; of all of them at no cost.
  Digest node_hash(const State& state, std::size_t count) const;
  Digest node_hash(const State& state) const { return node_hash(state, state.size()); }

  const Options& options() const { return options_; }
  const json::Hasher& hasher() const { return hasher_; }
  const Sanitiser& sanitiser() const { return sanitiser_; }
  // `weir-1`, or `weir-1+hmac` with a key.
  std::string_view schema_version() const { return hasher_.keyed() ? "weir-1+hmac" : "weir-1"; }

 private:
  Options options_;
  Sanitiser sanitiser_;
  json::Hasher hasher_;
};

}  // namespace weir::ctree
