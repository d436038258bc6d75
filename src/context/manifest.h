// The context manifest: what a prompt was made of, in pointers and hashes only. It is written before anybody sees the prompt.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "context/assemble.h"
#include "context/prefix.h"
#include "context/request.h"
#include "ctree/compile.h"
#include "json/value.h"

namespace weir::context {

// When a compaction is due, as in force at the entry.
struct Thresholds {
  std::uint64_t event_threshold = 18, n_step_fallback = 8, plain_bytes_threshold = 0;
};

struct ManifestInput {
  const ctree::NodesFold& fold;
  const ctree::NodesFold::State& state;
  const ctree::Compiled& compiled;
  const ContextConfig& config;
  const Context& context;
  const ContextHashes& hashes;
  const Request& request;
  std::uint64_t step_id = 0;
  Thresholds thresholds = {};
  std::optional<std::string_view> prompt = std::nullopt;  // the rendered bytes, if they are to be captured
};

// Of making messages from a selection. A manifest that names none was made by the first: messages left out between others had
// no line of their own. One of the second says so; a prompt without such a line is the same under both, and names none.
inline constexpr std::int64_t kRules = 2;

struct Manifest {
  std::string text;       // canonical
  std::string id;         // man1_...
  std::string exclusion;  // canonical: the list, or the name of its blob
  std::uint64_t step_id = 0;
  std::vector<std::string> blobs;  // what it names; to be stored before it is appended

  // {"manifest","manifest_id","step_id"}: the body of its entry. Points into this object.
  json::Value body(json::Arena& arena) const;
};

Manifest make_manifest(const ManifestInput& input);

// Of the canonical text of a manifest. Never keyed: whoever has the manifest can check it.
std::string manifest_id(std::string_view manifest);

}  // namespace weir::context
