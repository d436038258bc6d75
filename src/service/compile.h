// Use cases of the context compiler: stages and hashes at a place of the log, why each node is in or out, the first
// difference of two paths, and the answers and events that faces show.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ctree/compile.h"
#include "ctree/explain.h"
#include "ctree/nodes_fold.h"
#include "json/value.h"
#include "service/service.h"

namespace weir {

struct CompileQuery {
  Address address;
  ctree::CompileConfig config;                     // pins may be entry ids; they become node ids
  bool full = false;                               // no list is elided
  std::optional<json::Value> prompt_summary = {};  // hashed, never shown; null: none
};

// A place of the log, its nodes, and what was compiled from them.
struct Compilation {
  Located located;
  EntryId entry;  // empty: before the first
  std::shared_ptr<const ctree::NodesFold> fold;
  std::shared_ptr<const ctree::NodesFold::State> state;
  ctree::Compiled compiled;
};
Result<Compilation> compile_at(Service& service, const CompileQuery& query);
// The same within a transaction.
Result<Compilation> compile_in(Service& service, LogReader& reader, const Located& located, const CompileQuery& query);

// The nodes at a place, under the sanitising and hashing a configuration asks for. CONFIG_INVALID for a key that is not there.
struct NodesAt {
  std::shared_ptr<const ctree::NodesFold> fold;
  std::shared_ptr<const ctree::NodesFold::State> state;
};
Result<NodesAt> nodes_at(Service& service, LogReader& reader, const Located& located, const ctree::CompileConfig& config);

// Saves the store's own nodes at a place beside the log, if they were last saved far from it: another process starts from there.
Result<void> save_nodes(Service& service, const Located& located);

// The node of that name: a node id, one that a caller gave, or the entry that made it. NODE_UNKNOWN.
Result<ctree::Ordinal> need_node(const ctree::NodesFold::State& state, std::string_view name);
// Pins by any of these names become node ids.
Result<void> name_pins(const ctree::NodesFold::State& state, ctree::CompileConfig& config);

// What of a configuration is not said is the store's.
ctree::CompileConfig compile_defaults(const Service& service);

// Entry ids of all nodes, in order.
Result<std::vector<std::string>> entry_ids(Service& service, const Compilation& at);

// Every node in append order, or those named (by node id, given id or entry id), with the id of its entry. NODE_UNKNOWN.
using ExplainVisit = FunctionRef<Result<void>(const ctree::Explained&, std::string_view entry)>;
Result<ctree::ExplainTotals> explain_at(Service& service, const Compilation& at, const std::vector<std::string>& nodes, ExplainVisit visit);
// {"entry","nodes":[...],"profile","session","totals"}, canonical, piece by piece.
Result<void> explain_text(Service& service, const Compilation& at, const std::vector<std::string>& nodes,
                          FunctionRef<Result<void>(std::string_view)> out);

// ---- what faces show ----

// The compiler's output with only one of its stages.
json::Value stage_json(const Compilation& at, ctree::Stage stage, json::Arena& arena);

enum class PayloadForm { sanitised, hash };

// {"bytes","digest","id","kind","payload","payload_hash","payload_shape","turn"}
Result<json::Value> node_json(Service& service, const Compilation& at, ctree::Ordinal node, PayloadForm form, json::Arena& arena);
// Event `ctree_node`: {"node","snapshot"}, the snapshot as it was after that node.
Result<json::Value> node_event(Service& service, const Compilation& at, ctree::Ordinal node, PayloadForm form, json::Arena& arena);
// Event `ctree_snapshot`.
json::Value snapshot_event(const Compilation& at, json::Arena& arena);
// GET /sessions/{id}/ctrees
Result<json::Value> ctrees_json(Service& service, const Compilation& at, json::Arena& arena);
// GET /sessions/{id}/ctrees/tree; INVALID_FIELD for an unknown stage or `show`.
Result<json::Value> ctrees_tree(Service& service, const Compilation& at, std::string_view stage, std::string_view show, json::Arena& arena);
// GET /sessions/{id}/ctrees/events; "truncated" if the page ended before its limit, because it is long already.
Result<json::Value> ctrees_events(Service& service, const Compilation& at, std::uint64_t offset, std::uint64_t limit, json::Arena& arena);

}  // namespace weir
