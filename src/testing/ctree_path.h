// A path for the compiler's tests: entries by their bodies, folded one by one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ctree/nodes_fold.h"

namespace weir::testing {

class CtreePath {
 public:
  explicit CtreePath(ctree::NodesFold::Options options = {}) : fold(std::move(options)) {}

  // Appends an entry with that body (JSON); its id is `x1`, `x2`, ... unless one is given.
  CtreePath& add(std::string_view type, std::string_view body, std::string id = "");
  CtreePath& message(std::string_view body) { return add("message", body); }

  ctree::NodesFold fold;
  ctree::NodesFold::State state;
  std::vector<Entry> entries;
};

// The contract's worked example S: six messages, one tool call.
CtreePath worked_example();

}  // namespace weir::testing
