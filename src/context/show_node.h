// One kept node as neutral messages: its payload from the entry's body, edits applied, blobs loaded, a long result cut.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "context/config.h"
#include "context/loading.h"
#include "context/neutral.h"
#include "context/source.h"
#include "ctree/nodes_fold.h"
#include "json/parse.h"

namespace weir::context {

struct ShownNode {
  std::vector<Message> messages;             // results not yet beside their calls
  bool cut = false;                          // a result that was longer
  std::optional<Digest> blob;                // where the whole of it is, if it is a blob
  std::vector<std::string> provider_blocks;  // places in the content of what only its provider may see, left out
  bool unanswered = false;                   // a carried call without a result
};

class NodeShow {
 public:
  struct Input {
    const ctree::NodesFold& fold;
    const ctree::NodesFold::State& state;
    const ContextConfig& config;
    Source& source;
    json::Arena& arena;
    std::deque<std::string>& texts;
  };
  explicit NodeShow(const Input& input);

  // In the last unit of a prompt a provider gets its own blocks back.
  Result<ShownNode> show(ctree::Ordinal ordinal, bool in_last_unit);

 private:
  Result<json::Value> body(Seq seq, Entry& entry);
  // The content an edit or an attached narrative gives the node.
  Result<std::optional<json::Value>> overlay(ctree::Ordinal ordinal, bool edits);
  Result<void> message(const json::Value& source, bool text_fallback, ctree::Ordinal ordinal, bool in_last_unit, ShownNode& out);
  struct Bounds {
    std::uint64_t most_bytes;  // of results
    bool keep_own;             // blocks go back to their provider
    std::string place;         // before the places of blocks
  };
  Result<void> add(const json::Value& body, json::Value payload, const Bounds& bounds, ShownNode& out);
  json::Value own_blocks(const json::Value& original, const json::Value& content, const Bounds& bounds, ShownNode& out,
                         std::vector<json::Value>& shown);
  Result<void> results(const json::Value& payload, std::uint64_t most_bytes, ShownNode& out);
  Result<json::Value> fitted(const json::Value& content, std::uint64_t most_bytes, ShownNode& out);
  Result<void> checkpoint(const json::Value& body, ctree::Ordinal ordinal, ShownNode& out);
  Result<void> replacement(const json::Value& list, ShownNode& out);
  Result<void> line(std::string head, const json::Value& content, ShownNode& out);
  Result<void> event(const Entry& entry, const json::Value& body, ctree::Ordinal ordinal, ShownNode& out);

  const Input in_;
  const ctree::Limit most_item_;
  Loading loading_;
  json::Parser parser_;
};

}  // namespace weir::context
