// The nodes of a path as a tree for people: turns, tasks, nodes, what was collapsed.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"
#include "ctree/compile.h"
#include "ctree/nodes_fold.h"
#include "json/value.h"

namespace weir::ctree {

struct TreeRequest {
  Stage stage = Stage::FROZEN;
  bool show_all = false;   // also what is not selected, marked with its reason
  PreviewSource previews;  // asked only if the configuration has them
  // The sanitised payload of a node, alive as long as the answer; only asked for kinds whose label or place depends on it.
  FunctionRef<Result<json::Value>(Ordinal)> payload;
  // The entry that made a node.
  FunctionRef<Result<std::string>(Ordinal)> entry_id;
};

// {"profile","source","stage","root_id","nodes","selection","hashes","truncated"}; it points into `compiled`.
Result<json::Value> tree_view(const NodesFold& fold, const NodesFold::State& state, const Compiled& compiled, const TreeRequest& request,
                              json::Arena& arena);

}  // namespace weir::ctree
