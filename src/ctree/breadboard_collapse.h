// The collapse policy of the profile breadboard-0.1 (contract ctree, 12.7): what a target drops, and what is collapsed
// besides. Odd targets do what they do in Python, or are INVALID_FIELD where it raises.
#pragma once

#include <string>

#include "base/result.h"
#include "ctree/breadboard_store.h"

namespace weir::breadboard {

struct CollapseArgs {
  Value target;
  Value mode = "all_but_last";
  Value kind_allowlist;
};

struct CollapsePlan {
  Value target;  // null: none
  std::string mode;
  std::size_t node_count = 0;
  Ordinals drop, collapse;  // ids by their first nodes
};

// Over a list of ids in append order, which may hold one twice.
Result<CollapsePlan> plan_collapse(const Store& store, const Ordinals& ids, const Value& target, const Value& mode);

Result<Value> collapse_policy(const Store& store, const CollapseArgs& args);

// A collapsed snapshot, with the policy's default arguments.
Result<Value> collapse_ctree(const Store& store);

}  // namespace weir::breadboard
