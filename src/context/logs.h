// What is in the prompt and what is not, and why: every candidate node and every candidate chunk is in exactly one of the two.
// Neighbouring nodes that never were candidates share a record.
#pragma once

#include <vector>

#include "context/assemble.h"
#include "context/request.h"
#include "ctree/compile.h"
#include "ctree/nodes_fold.h"
#include "json/value.h"

namespace weir::context {

struct LogInput {
  const ctree::NodesFold& fold;
  const ctree::NodesFold::State& state;
  const ctree::Compiled& compiled;
  const Context& context;
  const Request& request;
};

// In prompt order: {"cut"?,"included_reason","item_id","item_type","source_ref"}.
std::vector<json::Value> inclusion_log(const LogInput& in, json::Arena& arena);
// In append order: {"count"?,"excluded_reason","item_id","item_type","node_hash"?}.
std::vector<json::Value> exclusion_log(const LogInput& in, json::Arena& arena);

}  // namespace weir::context
