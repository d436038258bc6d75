#include "ctree/breadboard_compile.h"

#include <algorithm>
#include <map>

#include "base/secrets.h"
#include "ctree/breadboard_header.h"
#include "ctree/breadboard_python.h"
#include "ctree/breadboard_text.h"
#include "ctree/kind.h"

namespace weir::breadboard {
namespace {

Value raw_stage(const Store& store, const Value& prompt_summary) {
  std::map<std::string, std::size_t> counts;
  for (const Node& node : store.nodes()) {
    if (!node.kind.empty()) ++counts[node.kind];
  }
  std::vector<Member> kinds;
  kinds.reserve(counts.size());
  for (const auto& [kind, count] : counts) kinds.push_back({kind, count});
  std::vector<Member> members{{"schema_version", kSchemaVersion},
                              {"node_count", store.size()},
                              {"event_count", store.size()},
                              {"node_hash", store.node_hash()},
                              {"kind_counts", Value::object(std::move(kinds))}};
  if (is_true(prompt_summary)) members.push_back({"prompt_summary", prompt_summary});
  return Value::object(std::move(members));
}

Value summary_of(const Store& store, const Config& config, const Selection& selection) {
  Ordinals dropped;
  std::set_difference(selection.candidates.begin(), selection.candidates.end(), selection.selected_ids.begin(),
                      selection.selected_ids.end(), std::back_inserter(dropped));
  const Value selected = store.ids(selection.selected_ids);
  const Value summary = Value::object({{"kind_allowlist", Value::array({config.kinds.begin(), config.kinds.end()})},
                                       {"candidate_ids", store.ids(selection.candidates)},
                                       {"candidate_count", selection.candidates.size()},
                                       {"selected_ids", selected},
                                       {"selected_count", selection.selected_ids.size()},
                                       {"kept_ids", selected},
                                       {"kept_count", selection.selected_ids.size()},
                                       {"dropped_ids", store.ids(dropped)},
                                       {"dropped_count", dropped.size()},
                                       {"collapsed_ids", Value::array({})},
                                       {"collapsed_count", 0},
                                       {"pinned_count", selection.pinned.size()},
                                       {"max_nodes", config.max_nodes},
                                       {"max_turns", config.max_turns},
                                       {"max_message_chars", config.max_message_chars},
                                       {"pinned_ids", store.ids(selection.pinned)}});
  return with_member(summary, "selection_sha256", sha1_of_plain(summary));  // the name lies, as it does in BreadBoard
}

// Keys as they were recorded, volatile ones among them, which is why z2 changes after a reload.
Value shape_of(const Value& payload) {
  static constexpr const char* kTypes[] = {"NoneType", "bool", "int", "float", "str"};
  if (payload.is_array()) return Value::array({Value(payload.items().size())});
  if (!payload.is_object()) return kTypes[static_cast<int>(payload.kind())];
  std::vector<Value> keys;
  for (const Member& member : payload.members()) keys.emplace_back(member.key);
  return Value::array(std::move(keys));
}

Value spec_stage(const Store& store, const Compiled& compiled) {
  std::vector<Value> selected;
  for (const std::size_t ordinal : compiled.selection.selected) {
    const Node& node = store[ordinal];
    selected.push_back(Value::object({{"id", node.id},
                                      {"digest", node.digest},
                                      {"kind", node.kind},
                                      {"turn", node.turn},
                                      {"payload_hash", sha1_of_canonical(node.payload)},
                                      {"payload_shape", shape_of(node.payload)}}));
  }
  return Value::object(
      {{"schema_version", kSchemaVersion}, {"selection", compiled.selection_summary}, {"selected", Value::array(std::move(selected))}});
}

Result<Value> header_stage(const Store& store, const Compiled& compiled) {
  std::vector<Value> messages;
  for (const std::size_t ordinal : compiled.selection.selected) {
    if (store[ordinal].kind != ctree::kMessage) continue;
    auto item = header_item(store[ordinal], compiled.config);
    if (!item.ok()) return std::move(item).error().with("node_id", masked_excerpt(store[ordinal].id, 80));
    messages.push_back(std::move(*item));
  }
  return Value::object({{"schema_version", kSchemaVersion},
                        {"policy", "messages_only"},
                        {"header_mode", compiled.header_mode()},
                        {"node_hash", store.node_hash()},
                        {"selected_node_ids", store.ids(compiled.selection.selected_ids)},
                        {"selection_sha256", compiled.selection_summary.get("selection_sha256")},
                        {"messages", Value::array(std::move(messages))}});
}

}  // namespace

Result<Compiled> compile_stages(const Store& store, const Value& config, const Value& prompt_summary) {
  Compiled out;
  TRY(out.config, read_config(config));
  out.selection = select(store, out.config);
  out.selection_summary = summary_of(store, out.config, out.selection);
  out.has_prompt_summary = is_true(prompt_summary);
  out.raw = raw_stage(store, prompt_summary);
  out.spec = spec_stage(store, out);
  TRY(out.header, header_stage(store, out));
  out.hashes = Value::object({{"node_hash", store.node_hash()},
                              {"z1", sha1_of_plain(out.raw)},
                              {"z2", sha1_of_plain(out.spec)},
                              {"z3", sha1_of_plain(out.header)}});
  return out;
}

Value output_of(const Store& store, const Compiled& compiled) {
  return Value::object(
      {{"profile", kProfile},
       {"kind", "ctree_compiler"},
       {"compiler_version", kSchemaVersion},
       {"schema_version", kSchemaVersion},
       {"node_count", store.size()},
       {"event_count", store.size()},
       {"has_prompt_summary", compiled.has_prompt_summary},
       {"hashes", compiled.hashes},
       {"stages",
        Value::object({{"RAW", compiled.raw}, {"SPEC", compiled.spec}, {"HEADER", compiled.header}, {"FROZEN", compiled.header}})}});
}

}  // namespace weir::breadboard
