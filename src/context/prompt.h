// The next prompt, whole: compiled, assembled, rendered, hashed, and the manifest that records it. A pure function of the
// nodes of a path, the configuration and the caller's request; nothing is written here.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "context/assemble.h"
#include "context/config.h"
#include "context/manifest.h"
#include "context/prefix.h"
#include "context/render.h"
#include "context/request.h"
#include "context/source.h"
#include "ctree/compile.h"
#include "ctree/nodes_fold.h"

namespace weir::context {

struct PromptInput {
  const ctree::NodesFold& fold;
  const ctree::NodesFold::State& state;
  const ContextConfig& config;
  const Request& request;
  Source& source;
  std::uint64_t step_id = 0;
  Thresholds thresholds = {};
  bool capture = false;  // besides config.capture: something failed since the last manifest
  bool allow_over_budget = false;
  // What an earlier compilation with this configuration left behind; null: nothing. Asked once.
  std::function<ctree::CompileMemo*(const ctree::CompileConfig&)> memo = {};
  bool mark_holes = true;  // false: as in prompts of the first rules
};

struct Prompt {
  ctree::Compiled compiled;
  Context context;
  Rendered rendered;
  ContextHashes hashes;
  Manifest manifest;
  json::Arena arena;  // of what was rendered
};

// NODE_UNKNOWN, CONTEXT_OVER_BUDGET, or what the source says.
Result<Prompt> make_prompt(const PromptInput& input);

// The last manifest before this one.
struct PreviousPrompt {
  std::string prefix_hash;
  PrefixMark mark;
  const Prompt* prompt = nullptr;  // made again at the entry it was made for; null if its configuration was another one
};

struct AnswerInput {
  const PromptInput& of;
  const Prompt& prompt;
  std::string_view session, entry;
  std::optional<PreviousPrompt> previous;
};

// The one answer, the same in every face. It points into the prompt.
json::Value answer_json(const AnswerInput& input, json::Arena& arena);

}  // namespace weir::context
