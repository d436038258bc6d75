// The profile breadboard-0.1: byte for byte what BreadBoard (Python) computes at its schema 0.1, faults included
// (contract ctree, 12). This is what the service needs of it; the parts stand in breadboard_*.h.
//
//   TRY(breadboard::RecordFile file, breadboard::read_record_file(text));
//   TRY(breadboard::Value output, breadboard::compile(file.store, config, prompt_summary));
//   face.print(breadboard::plain(output));
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "ctree/breadboard_collapse.h"
#include "ctree/breadboard_compile.h"
#include "ctree/breadboard_context.h"
#include "ctree/breadboard_read.h"
#include "ctree/breadboard_records.h"
#include "ctree/breadboard_store.h"
#include "ctree/breadboard_summary.h"
#include "ctree/breadboard_text.h"
#include "ctree/breadboard_tree.h"

namespace weir::breadboard {

// The compiler's whole output; a null config or prompt summary is none.
Result<Value> compile(const Store& store, const Value& config = {}, const Value& prompt_summary = {});

// Arguments as one JSON object each, named as in BreadBoard; what is absent has its default, what is unknown is
// INVALID_FIELD.
Result<CollapseArgs> collapse_args(const Value& args);
Result<ContextArgs> context_args(const Value& args);
Result<TreeArgs> tree_args(const Value& args);

}  // namespace weir::breadboard
