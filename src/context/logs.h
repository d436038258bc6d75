// What is in the prompt and what is not, and why: every candidate node and every candidate chunk is in exactly one of the two.
// Neighbouring nodes that never were candidates share a record.
#pragma once

#include <cstddef>
#include <string>

#include "context/assemble.h"
#include "context/request.h"
#include "ctree/compile.h"
#include "ctree/nodes_fold.h"

namespace weir::context {

struct LogInput {
  const ctree::NodesFold& fold;
  const ctree::NodesFold::State& state;
  const ctree::Compiled& compiled;
  const Context& context;
  const Request& request;
};

// A log as canonical text, written as such: of a long path it has as many records as there are nodes.
struct LogText {
  std::string text = "[]";
  std::size_t count = 0;
};

// In prompt order: {"cut"?,"included_reason","item_id","item_type","source_ref"}.
LogText inclusion_log(const LogInput& in);
// In append order: {"count"?,"excluded_reason","item_id","item_type","node_hash"?}.
LogText exclusion_log(const LogInput& in);

}  // namespace weir::context
