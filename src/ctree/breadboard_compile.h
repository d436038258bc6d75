// The compiler of the profile breadboard-0.1 (contract ctree, 12.7): the stage payloads and their hashes.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "ctree/breadboard_config.h"
#include "ctree/breadboard_select.h"
#include "ctree/breadboard_store.h"

namespace weir::breadboard {

struct Compiled {
  Config config;
  Selection selection;
  Value selection_summary;  // with its selection_sha256
  Value hashes;             // node_hash, z1, z2, z3
  Value raw, spec, header;
  bool has_prompt_summary = false;

  std::string_view header_mode() const { return config.previews ? "sanitized_content" : "hash_only"; }
};

// CONFIG_INVALID or NOT_REPRODUCIBLE.
Result<Compiled> compile_stages(const Store& store, const Value& config, const Value& prompt_summary);

// The whole output, `profile` included.
Value output_of(const Store& store, const Compiled& compiled);

}  // namespace weir::breadboard
