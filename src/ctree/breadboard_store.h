// The nodes of one session in the profile breadboard-0.1, in the order they were recorded (contract ctree, 12.4).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sha1.h"
#include "ctree/breadboard_value.h"

namespace weir::breadboard {

inline constexpr std::string_view kProfile = "breadboard-0.1";
inline constexpr std::string_view kSchemaVersion = "0.1";

struct Record {
  std::string kind;
  Value payload, turn;
  std::string node_id;  // empty: derived from ordinal and digest
};

struct Node {
  std::string id, digest, kind;
  Value turn, payload;
  // Ids may be given twice. The first node of an id gives it its place, so its ordinal stands for the id.
  std::size_t first = 0;
};

// Places of nodes, or ids by the place of their first node.
using Ordinals = std::vector<std::size_t>;

class Store {
 public:
  // Amortised O(log n) besides hashing the record itself.
  const Node& record(Record record);

  const std::vector<Node>& nodes() const { return nodes_; }
  const Node& operator[](std::size_t ordinal) const { return nodes_[ordinal]; }
  std::size_t size() const { return nodes_.size(); }

  // The ordinal of the first node with this id.
  std::optional<std::size_t> find(std::string_view id) const;
  // Of an id given by its first node: the last node that has it.
  const Node& last_of(std::size_t first) const { return nodes_[last_[first]]; }
  Value ids(const Ordinals& ordinals) const;

  // SHA-1 of the digests so far; O(1).
  std::string node_hash() const;

 private:
  std::vector<Node> nodes_;
  Ordinals last_;  // by ordinal; true of first nodes only
  std::map<std::string, std::size_t, std::less<>> first_by_id_;
  Sha1 digests_ = Sha1().update("[");
};

// The text whose SHA-1 is a record's digest.
std::string digest_preimage(const Record& record);

// A backfilled snapshot knows no node_hash.
Value snapshot(const Store& store, bool backfilled = false);

// The bytes of the two files (12.9).
std::string events_jsonl(const Store& store);
std::string snapshot_json(const Store& store, bool backfilled = false);

}  // namespace weir::breadboard
