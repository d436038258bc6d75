// The hash summary of the profile breadboard-0.1 and the one line made of it (contract ctree, 12.7).
#pragma once

#include <string>

#include "base/result.h"
#include "ctree/breadboard_compile.h"

namespace weir::breadboard {

struct SummaryArgs {
  Value config, prompt_summary;
  Value runner;             // an object with `enabled` and `branches`; anything else: none
  bool backfilled = false;  // the snapshot was
};

Result<Value> hash_summary(const Store& store, const SummaryArgs& args);

// C-TREES: sha256=... node_hash=... z1=... z2=... z3=... nodes=1 events=1
std::string note_line(const Value& hash_summary);

}  // namespace weir::breadboard
