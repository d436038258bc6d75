// Where what was chosen goes in a prompt, and where something that was not chosen is missing between two messages that are
// shown. A hole is told by a line in its place: how many messages, and between which ids they lie.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "context/config.h"
#include "ctree/compile.h"
#include "ctree/nodes_fold.h"

namespace weir::context {

// Neighbouring nodes that were dropped behind something that is shown.
struct Hole {
  ctree::Ordinal first = ctree::kNoNode, last = ctree::kNoNode;
  std::size_t count = 0;  // of those that were candidates and in the scope
};

// Points into all that it is given.
class Layout {
 public:
  Layout(const ctree::NodesFold::State& state, const ctree::CompileConfig& config, const ctree::Selection& selection)
      : state_(state), config_(config), selection_(selection) {}

  bool in_scope(ctree::Ordinal node) const;
  bool is_system_pin(ctree::Ordinal node) const;
  bool is_policy(ctree::Ordinal node) const { return is_system_pin(node) || !in_scope(node); }
  bool is_barrier(ctree::Ordinal node) const { return selection_.barrier && node == state_.checkpoint->ordinal; }
  bool is_collapsed(ctree::Ordinal node) const;

  // Between these, which are shown of the conversation. What a person took out, and what lies before the first of them, is no hole: for
  // that stands one line without a number, which stays the same while a window moves on.
  std::vector<Hole> holes(const std::vector<ctree::Ordinal>& shown) const;
  // Is anything dropped that no hole tells?
  bool drops_more_than(const std::vector<Hole>& holes) const;
  std::string line(const Hole& hole) const;

 private:
  const ctree::NodesFold::State& state_;
  const ctree::CompileConfig& config_;
  const ctree::Selection& selection_;
};

// A limit on the prompt's size, which a prompt must keep; the others only choose.
bool is_size(const ctree::OverBudget& over);

}  // namespace weir::context
