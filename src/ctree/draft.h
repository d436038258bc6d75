// A node before it is hashed: kind, turn and sanitised payload of one entry (docs/ctree.md, nodes). Made when the entry is
// folded, and again whenever its payload is to be shown.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ctree/node.h"
#include "ctree/projection.h"
#include "ctree/sanitise.h"
#include "json/value.h"
#include "store/entry.h"

namespace weir::ctree {

// What names stand for on the path. Folding gives new aliases out; showing only looks them up.
class Names {
 public:
  virtual ~Names() = default;
  virtual std::string_view call(std::string_view id) = 0;
  virtual std::string_view task(std::string_view id) = 0;
  // The first node made by that entry or after it, if the entry is on the path; kNoNode: none yet.
  struct Place {
    Ordinal node = kNoNode;
    bool made = false;  // by that entry itself
  };
  virtual std::optional<Place> entry(std::string_view id) = 0;
  // The last compaction by its entry pointer.
  virtual std::optional<Ordinal> compaction(std::string_view pointer) = 0;
  virtual std::string_view node_id(Ordinal ordinal) = 0;
};

struct Draft {
  std::string_view kind;
  std::int64_t turn = kNoTurn;
  json::Value payload;                 // sanitised
  std::optional<json::Value> content;  // sanitised; what the stages call the node's content
  ProjectedMessage message;            // of kind message
  bool is_message = false, control = false, begins_turn = false;
  std::string_view given_id;  // of a ctree_node

  // Of a context edit or an attached narrative. Without a target: it is not on the path.
  std::optional<Ordinal> target;
  std::optional<json::Value> replacement;  // nothing: taken out

  struct Carried {  // over a compaction
    bool replacement = false, kept = false, narrative = false, opaque = false;
    std::string_view snapshot_id;
    Ordinal first_kept = kNoNode;
    std::vector<Ordinal> kept_nodes;
  };
  std::optional<Carried> carried;
};

// Nothing for an entry that makes no node. `turns` counts the turns before it, `own` is the ordinal the node has.
std::optional<Draft> draft_node(const Entry& entry, const json::Value& body, std::uint64_t turns, Ordinal own, Names& names,
                                const Sanitiser& sanitiser, json::Arena& arena);

// Does an entry of this type make a node, whatever its body?
bool makes_node(std::string_view type);

}  // namespace weir::ctree
