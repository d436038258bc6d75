// The context selection of the profile breadboard-0.1 and the text it is injected as (contract ctree, 12.7).
#pragma once

#include <string>

#include "base/result.h"
#include "ctree/breadboard_compile.h"

namespace weir::breadboard {

struct ContextArgs {
  Value selection_config, header_config;  // objects; null counts as empty
  Value collapse_target;
  Value collapse_mode = "all_but_last";
  Value stage = "SPEC";  // unknown: SPEC
  bool pin_latest = true;
  Value extra_pin_ids;  // a list, or null
};

struct Context {
  Compiled compiled;
  Value selection;                                // with its selection_sha256
  std::string stage;                              // RAW, SPEC, HEADER or FROZEN
  Ordinals candidates, kept, dropped, collapsed;  // ids by their first nodes
};

// CONFIG_INVALID, INVALID_FIELD or NOT_REPRODUCIBLE.
Result<Context> select_context(const Store& store, const ContextArgs& args);

// The content of the system message.
std::string injected_text(const Store& store, const Context& context);

// The stage a caller named, trimmed and in capitals; `otherwise` if there is none of that name.
std::string stage_of(const Value& given, std::string_view otherwise);

}  // namespace weir::breadboard
