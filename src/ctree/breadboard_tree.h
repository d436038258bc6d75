// The tree view of the profile breadboard-0.1 (contract ctree, 12.8). O(n log n) in the nodes.
#pragma once

#include "base/result.h"
#include "ctree/breadboard_store.h"

namespace weir::breadboard {

struct TreeArgs {
  Value stage = "FROZEN";  // unknown: FROZEN
  Value compiler_config;   // its blocks `selection` and `header` count
  Value collapse_target;
  Value collapse_mode = "all_but_last";
  bool include_previews = false;
};

// {root_id, nodes, stage, selection, hashes}. CONFIG_INVALID, INVALID_FIELD or NOT_REPRODUCIBLE.
Result<Value> tree_view(const Store& store, const TreeArgs& args);

}  // namespace weir::breadboard
