// A node's sanitised payload, made again from its entry: for what shows payloads (events, previews, the context, a diff).
#pragma once

#include <optional>

#include "ctree/draft.h"
#include "ctree/nodes_fold.h"

namespace weir::ctree {

// The draft of the node `ordinal`, whose entry this is. `state` is one that holds it.
std::optional<Draft> draft_again(const NodesFold& fold, const NodesFold::State& state, Ordinal ordinal, const Entry& entry,
                                 const json::Value& body, json::Arena& arena);

// What names stand for in a state, without giving new ones out.
class KnownNames : public Names {
 public:
  KnownNames(const NodesFold::State& state, json::Arena& arena) : state_(state), arena_(arena) {}
  std::string_view call(std::string_view id) override;
  std::string_view task(std::string_view id) override;
  std::optional<Place> entry(std::string_view id) override;
  std::optional<Ordinal> compaction(std::string_view pointer) override;
  std::string_view node_id(Ordinal ordinal) override;

 private:
  const NodesFold::State& state_;
  json::Arena& arena_;
};

}  // namespace weir::ctree
