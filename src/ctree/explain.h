// The rule that kept, dropped, pinned or collapsed each node of a path.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "ctree/nodes_fold.h"
#include "ctree/select.h"
#include "json/value.h"

namespace weir::ctree {

enum class Fate { kept, dropped, collapsed, outside };
std::string_view name(Fate fate);

struct Explained {
  Ordinal ordinal = 0;
  Seq seq = 0;
  std::string node_id;
  std::string_view kind, role;
  std::int64_t turn = kNoTurn;
  std::uint64_t bytes = 0;
  Fate fate = Fate::kept;
  Reason reason = Reason::in_scope;
  Ordinal unit = 0;

  json::Value to_json(std::string_view entry_id, json::Arena& arena) const;
};

// How many rows had each fate and each reason.
struct ExplainTotals {
  std::array<std::uint64_t, 4> fates{};
  std::array<std::uint64_t, kReasons> reasons{};
  void add(const Explained& row);
  json::Value to_json(json::Arena& arena) const;  // {"fates":{...},"reasons":{...}}
};

// Nodes in rising order, one after another: reads what it needs of the state and keeps nothing. The views of a row point
// into the state.
class Explaining {
 public:
  Explaining(const NodesFold::State& state, const Selection& selection)
      : state_(state), selection_(selection), nodes_(state.nodes), hashes_(state.hashes) {}
  Explained row(Ordinal ordinal);

 private:
  const NodesFold::State& state_;
  const Selection& selection_;
  PVec<Node>::Cursor nodes_;
  PVec<NodeHashes>::Cursor hashes_;
};

}  // namespace weir::ctree
