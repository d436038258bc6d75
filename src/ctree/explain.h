// The rule that kept, dropped, pinned or collapsed each node of a path.
#pragma once

#include <string>
#include <string_view>
#include <vector>

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

// All nodes in append order; the views point into the state.
std::vector<Explained> explain(const NodesFold::State& state, const Selection& selection);

// {"fates":{...},"reasons":{...}}
json::Value explain_totals(const std::vector<Explained>& rows, json::Arena& arena);

}  // namespace weir::ctree
