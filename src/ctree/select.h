// Which nodes make up the context, and why: scope, pins, limits, drop and collapse, worked out once for every stage, event
// and explanation. Order is append order everywhere; nodes of one unit stay together.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "ctree/config.h"
#include "ctree/nodes_fold.h"
#include "ctree/reason.h"

namespace weir::ctree {

struct Usage {
  std::uint64_t nodes = 0, bytes = 0, chars = 0, tokens = 0, turns = 0;
};

// A limit that pins alone exceed.
struct OverBudget {
  std::string_view limit;
  std::uint64_t allowed = 0, pinned = 0;
};

struct Selection {
  Ordinal first = 0;                                // in scope
  std::vector<Reason> reasons;                      // of the nodes from there on
  std::vector<std::pair<Ordinal, Reason>> earlier;  // candidates before it: pins and their units
  std::vector<Ordinal> kept, dropped, pinned;       // rising
  std::vector<Ordinal> collapsed;                   // of the kept ones
  std::array<std::uint64_t, kReasons> counts{};
  std::vector<OverBudget> over_budget;
  Usage used;
  bool barrier = false;  // there is a compaction on the path

  Reason reason(const NodesFold::State& state, Ordinal ordinal) const { return reason(state, ordinal, state.nodes[ordinal]); }
  Reason reason(const NodesFold::State& state, Ordinal ordinal, const Node& node) const;
  std::uint64_t candidates() const;
};

// NODE_UNKNOWN for a pin that is not on the path.
Result<Selection> select(const NodesFold::State& state, const CompileConfig& config);

// What a node costs: a large tool result is cut to max_item_bytes.
std::uint64_t cost_bytes(const NodesFold::State& state, Ordinal ordinal, const Limit& max_item_bytes);

}  // namespace weir::ctree
