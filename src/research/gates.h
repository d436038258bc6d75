// Gates B, C and D: a pure function of files, limits and log each. Broken inputs are errors; a gate that fails is an answer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "research/bundle.h"
#include "research/extract.h"
#include "research/mirror.h"
#include "research/pack.h"

namespace weir::research {

struct GateAnswer {
  bool pass = false;
  json::Value checks;  // of D; null else
  std::vector<std::string> reasons, warnings;
  json::Value metrics, inputs;
  std::string inputs_digest;
};

// What a gate looks at, read once.
struct GateInputs {
  const State& state;
  const Limits& limits;
  const Perspectives& perspectives;
  const Pool& pool;
  RunFiles& files;
  Contents& contents;
};

Result<GateAnswer> gate_b(const GateInputs& in, json::Arena& arena);
Result<GateAnswer> gate_c(const GateInputs& in, json::Arena& arena);
// `bundle`, if asked for, is the stream that was measured.
Result<GateAnswer> gate_d(const GateInputs& in, json::Arena& arena, Bundle* bundle = nullptr);

// The accepted outputs of declared perspectives with their texts: ARTIFACT_CHANGED, MISSING_ARTIFACT where a file is not what
// the log holds.
Result<std::vector<OutputText>> output_texts(const State& state, const Perspectives& perspectives, RunFiles& files);

// Which members of a gate's inputs differ: `limits`, `entries[0]`, ...
std::vector<std::string> changed_members(const json::Value& recorded, const json::Value& today);

}  // namespace weir::research
