#include "ctree/breadboard_store.h"

#include <fmt/format.h>

#include "ctree/breadboard_text.h"

namespace weir::breadboard {

const Node& Store::record(Record record) {
  Node node;
  node.digest = sha1_hex(digest_preimage(record));
  const std::size_t ordinal = nodes_.size();
  node.id = record.node_id.empty() ? fmt::format("n{:08d}_{}", ordinal, node.digest.substr(0, 8)) : std::move(record.node_id);
  node.kind = std::move(record.kind);
  node.turn = std::move(record.turn);
  node.payload = std::move(record.payload);
  node.first = first_by_id_.emplace(node.id, ordinal).first->second;
  last_.push_back(ordinal);
  last_[node.first] = ordinal;
  digests_.update(ordinal == 0 ? "\"" : ",\"").update(node.digest).update("\"");
  return nodes_.emplace_back(std::move(node));
}

std::optional<std::size_t> Store::find(std::string_view id) const {
  const auto found = first_by_id_.find(id);
  return found == first_by_id_.end() ? std::nullopt : std::optional(found->second);
}

Value Store::ids(const Ordinals& ordinals) const {
  std::vector<Value> out;
  out.reserve(ordinals.size());
  for (const std::size_t ordinal : ordinals) out.emplace_back(nodes_[ordinal].id);
  return Value::array(std::move(out));
}

std::string Store::node_hash() const { return Sha1(digests_).update("]").finish_hex(); }

std::string digest_preimage(const Record& record) {
  return canonical(Value::object({{"kind", record.kind}, {"payload", record.payload}, {"turn", record.turn}}));
}

Value snapshot(const Store& store, bool backfilled) {
  std::vector<Member> members{
      {"schema_version", kSchemaVersion},
      {"node_count", store.size()},
      {"event_count", store.size()},
      {"last_id", store.size() == 0 ? Value() : Value(store.nodes().back().id)},
      {"node_hash", backfilled ? Value() : Value(store.node_hash())},
  };
  if (backfilled) members.push_back({"backfilled_from_eventlog", true});
  return Value::object(std::move(members));
}

std::string events_jsonl(const Store& store) {
  std::string out = plain(Value::object({{"_type", "ctree_eventlog_header"}, {"schema_version", kSchemaVersion}})) + '\n';
  for (const Node& node : store.nodes()) {
    out += canonical(Value::object({{"kind", node.kind}, {"node_id", node.id}, {"payload", node.payload}, {"turn", node.turn}}));
    out += '\n';
  }
  return out;
}

std::string snapshot_json(const Store& store, bool backfilled) { return indented(snapshot(store, backfilled)); }

}  // namespace weir::breadboard
