// From a selection to the messages of the next prompt, in an order whose beginning stays the same from step to step: system
// pins and pins from before the scope, what a compaction carried over, what was kept, the latest request and what followed.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "context/config.h"
#include "context/layout.h"
#include "context/neutral.h"
#include "context/source.h"
#include "ctree/compile.h"
#include "ctree/nodes_fold.h"
#include "json/value.h"

namespace weir::context {

// A node that is in the prompt.
struct Item {
  ctree::Ordinal node = ctree::kNoNode;
  Section section = Section::tail;
  bool cut = false;
  std::optional<Digest> blob;             // the whole of what was cut
  std::vector<std::string> placeholders;  // of its calls: those without a result, by the id shown
};

// Something of a node that only its provider may see.
struct LeftOutBlock {
  ctree::Ordinal node = ctree::kNoNode;
  std::string place;  // in its content
};

struct Context {
  std::vector<Message> messages;
  std::vector<Item> items;  // in prompt order: every kept node that is neither collapsed nor an orphan nor empty
  std::vector<LeftOutBlock> left_out;
  std::vector<ctree::Ordinal> orphans;  // results that were kept and have no call to stand behind; rising
  std::vector<ctree::Ordinal> empty;    // messages that were kept and of which no provider is shown anything; rising
  bool marks_holes = false;             // a line stands in the place of something left out
  bool unanswered_call = false;

  // What the messages point into.
  json::Arena arena;
  std::deque<std::string> texts;
};

struct AssembleInput {
  const ctree::NodesFold& fold;
  const ctree::NodesFold::State& state;
  const ctree::Compiled& compiled;  // with config.compile_config()
  const ContextConfig& config;
  Source& source;
  bool allow_over_budget = false;
  bool mark_holes = true;
};

// CONTEXT_OVER_BUDGET if pins alone are larger than a budget. Reads the entries that are shown and no others.
Result<Context> assemble(const AssembleInput& input);

}  // namespace weir::context
