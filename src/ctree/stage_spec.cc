#include <algorithm>

#include "ctree/stages.h"
#include "json/canonical.h"

namespace weir::ctree {
namespace {

using json::Arena;
using json::Domain;
using json::Value;

std::string barrier_text(const StageInput& in) {
  if (!in.selection.barrier) return "null";
  Arena arena;
  const Ordinal barrier = in.state.checkpoint->ordinal, first = in.selection.first;
  const std::string node = in.state.id(barrier), kept = first < barrier ? in.state.id(first) : "";
  return json::canonical(json::make_object(arena, {{"before_count", first},
                                                   {"before_hash", arena.copy(in.fold.node_hash(in.state, first).hex())},
                                                   {"first_kept", kept.empty() ? Value() : Value(kept)},
                                                   {"node_id", node}}));
}

// Counts by reason of those in one half of the list, in key order.
template <typename Wanted>
std::string counts_text(const Selection& selection, Wanted&& wanted) {
  Arena arena;
  json::ObjectBuilder out(arena);
  for (std::size_t i = 0; i < kReasons; ++i) {
    if (selection.counts[i] > 0 && wanted(static_cast<Reason>(i))) out.add(kReasonNames[i], selection.counts[i]);
  }
  return json::canonical(out.build());
}

std::string over_budget_text(const Selection& selection) {
  Arena arena;
  std::vector<Value> items;
  for (const OverBudget& over : selection.over_budget) {
    items.push_back(json::make_object(arena, {{"allowed", over.allowed}, {"limit", over.limit}, {"pinned", over.pinned}}));
  }
  return json::canonical(json::make_array(arena, items));
}

std::string used_text(const Usage& used) {
  Arena arena;
  return json::canonical(json::make_object(
      arena, {{"bytes", used.bytes}, {"chars", used.chars}, {"nodes", used.nodes}, {"tokens", used.tokens}, {"turns", used.turns}}));
}

// Writes items in append order.
struct Writer {
  explicit Writer(const StageInput& input) : in(input), all_hashes(input.state.hashes), all_nodes(input.state.nodes) {}

  const StageInput& in;
  PVec<NodeHashes>::Cursor all_hashes;
  PVec<Node>::Cursor all_nodes;

  void id(Ordinal ordinal, std::string& out) {
    out += '"';
    write_node_id(ordinal, all_hashes[ordinal].digest, out);
    out += '"';
  }
  void dropped(Ordinal ordinal, std::string& out) {
    out += "{\"id\":";
    id(ordinal, out);
    out.append(",\"reason\":\"").append(name(in.selection.reason(in.state, ordinal))).append("\"}");
  }
  void selected(Ordinal ordinal, std::string& out) {
    const NodeHashes& hashes = all_hashes[ordinal];
    const Node& node = all_nodes[ordinal];
    out += "{\"digest\":";
    write_quoted(hashes.digest, out);
    out += ",\"id\":\"";
    write_node_id(ordinal, hashes.digest, out);
    out.append("\",\"kind\":").append(in.words.quoted(node.kind)).append(",\"payload_hash\":");
    write_quoted(hashes.payload, out);
    out.append(",\"payload_shape\":").append(in.state.words.text(hashes.shape));
    out.append(",\"reason\":\"").append(name(in.selection.reason(in.state, ordinal))).append("\",\"turn\":");
    write_turn(node.turn, out);
    out += '}';
  }
};

}  // namespace

// Which nodes are candidates, and why. The selection is hashed on its own too; both hashes take the list of dropped nodes.
SpecResult write_spec(const StageInput& in, StageMemos& memos) {
  const json::Hasher& hasher = in.fold.hasher();
  const Selection& s = in.selection;
  Writer writer(in);
  Arena arena;
  const std::string head =
      "{\"barrier\":" + barrier_text(in) + ",\"config\":" + json::canonical(in.config.selection_json(arena)) + ",\"dropped\":";
  const std::string middle = ",\"schema_version\":\"" + std::string(in.fold.schema_version()) + "\",\"selected\":";
  std::string counts = "{\"candidate_count\":" + std::to_string(s.candidates()) + ",\"dropped_count\":" + std::to_string(s.dropped.size());
  counts += ",\"outside\":" + counts_text(s, [](Reason r) { return !is_candidate(r); }) + ",\"over_budget\":" + over_budget_text(s);
  counts += ",\"pinned_count\":" + std::to_string(s.pinned.size()) + ",\"pinned_ids\":";
  const std::string reasons =
      ",\"reason_counts\":" + counts_text(s, is_candidate) + ",\"selected_count\":" + std::to_string(s.kept.size()) + ",\"selected_ids\":";
  const std::string used = ",\"used\":" + used_text(s.used) + "}";

  Sha256 stage = begin_stage(hasher), selection = hasher.begin(Domain::selection);
  stage.update(head);
  selection.update(head);
  const auto dropped_item = [&](std::size_t i, std::string& out) { writer.dropped(s.dropped[i], out); };
  const ListText dropped =
      write_list({s.dropped.size(), dropped_item, &memos.dropped, memos.same_dropped}, {&stage, &selection}, in.most_bytes, hasher);
  stage.update(middle);
  const auto selected_item = [&](std::size_t i, std::string& out) { writer.selected(s.kept[i], out); };
  const ListText selected =
      write_list({s.kept.size(), selected_item, &memos.selected, memos.same_selected}, {&stage}, in.most_bytes, hasher);
  stage.update(",\"selection\":").update(counts);
  selection.update(",\"selection\":").update(counts);
  const auto pinned_item = [&](std::size_t i, std::string& out) { writer.id(s.pinned[i], out); };
  const ListText pinned = write_list({s.pinned.size(), pinned_item}, {&stage, &selection}, in.most_bytes, hasher);
  stage.update(reasons);
  selection.update(reasons);
  const auto id_item = [&](std::size_t i, std::string& out) { writer.id(s.kept[i], out); };
  const ListText ids = write_list({s.kept.size(), id_item}, {&stage, &selection}, in.most_bytes, hasher);
  selection.update(used).update("}");
  SpecResult out;
  out.selection_sha256 = hasher.finish(selection);
  std::string tail = ",\"selection_sha256\":";
  write_quoted(out.selection_sha256, tail);
  tail += used;
  stage.update(tail).update("}");
  out.z = finish_stage(stage, Stage::SPEC, hasher);
  const std::vector<StagePart> selection_parts{{counts, &pinned, 4}, {reasons, &ids, 3}, {tail}};
  out.selection_text = shown_stage(selection_parts, in.most_bytes, hasher);
  out.text =
      shown_stage({{head, &dropped, 1}, {middle, &selected, 2}, {",\"selection\":" + counts, &pinned, 4}, {reasons, &ids, 3}, {tail + "}"}},
                  in.most_bytes, hasher);
  return out;
}

}  // namespace weir::ctree
