// From the nodes of a path to the compiler's output: selection, four stages, their hashes. A pure function of state and
// configuration; a memo only saves work.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "ctree/config.h"
#include "ctree/nodes_fold.h"
#include "ctree/select.h"
#include "ctree/stages.h"
#include "json/value.h"

namespace weir::ctree {

struct Compiled {
  CompileConfig config;
  Selection selection;
  std::string schema_version;
  std::size_t nodes = 0;
  std::string last_id;  // empty: no node
  bool has_prompt = false;
  Digest node_hash, selection_sha256, config_sha256;
  std::array<Digest, 4> z;
  std::array<std::string, 4> stages;  // canonical texts, as they are shown
  std::string selection_text;         // SPEC.selection
  std::string collapse_text;          // what was dropped to the target and collapsed
  std::string summary_text;           // the hash summary
  std::vector<std::string> warnings;

  // These point into this object, which must outlive them.
  json::Value to_json(json::Arena& arena) const;        // the compiler's output
  json::Value hashes_json(json::Arena& arena) const;    // node_hash, selection_sha256, z1..z4
  json::Value snapshot_json(json::Arena& arena) const;  // counts, last id, node_hash
};

// What the last compilation with a configuration left behind for the next.
struct CompileMemo {
  std::string config;
  std::size_t nodes = 0, controls = 0;
  Digest node_hash;
  Selection selection;
  StageMemos lists;
};

struct CompileRequest {
  const CompileConfig& config;
  std::optional<json::Value> prompt_summary;  // hashed, never shown
  bool full = false;                          // no list is elided
  PreviewSource previews;
  CompileMemo* memo = nullptr;
};

Result<Compiled> compile(const NodesFold& fold, const NodesFold::State& state, const CompileRequest& request);

}  // namespace weir::ctree
