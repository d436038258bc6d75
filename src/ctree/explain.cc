#include "ctree/explain.h"

#include <algorithm>
#include <array>

namespace weir::ctree {

using json::Value;

std::string_view name(Fate fate) {
  constexpr std::string_view kNames[] = {"kept", "dropped", "collapsed", "outside"};
  return kNames[static_cast<int>(fate)];
}

std::vector<Explained> explain(const NodesFold::State& state, const Selection& selection) {
  std::vector<Explained> out;
  out.reserve(state.size());
  state.nodes.each(0, state.size(), [&](std::size_t i, const Node& node) {
    const auto ordinal = static_cast<Ordinal>(i);
    Explained row{.ordinal = ordinal, .seq = node.seq, .node_id = state.id(ordinal), .turn = node.turn, .bytes = state.bytes(ordinal)};
    row.kind = state.words.text(node.kind);
    row.role = state.words.text(node.role);
    row.unit = state.unit_of(ordinal);
    row.reason = selection.reason(state, ordinal);
    const bool collapsed = std::binary_search(selection.collapsed.begin(), selection.collapsed.end(), ordinal);
    row.fate = collapsed ? Fate::collapsed : is_kept(row.reason) ? Fate::kept : is_dropped(row.reason) ? Fate::dropped : Fate::outside;
    out.push_back(std::move(row));
  });
  return out;
}

Value Explained::to_json(std::string_view entry_id, json::Arena& arena) const {
  return json::make_object(arena, {{"ordinal", ordinal},
                                   {"node_id", node_id},
                                   {"entry_id", entry_id},
                                   {"kind", kind},
                                   {"role", role.empty() ? Value() : Value(role)},
                                   {"turn", turn == kNoTurn ? Value() : Value(turn)},
                                   {"bytes", bytes},
                                   {"tokens", node_tokens(bytes)},
                                   {"fate", name(fate)},
                                   {"pinned", is_pin(reason)},
                                   {"reason", fate == Fate::collapsed ? Value(kCollapseReason) : Value(name(reason))},
                                   {"unit", unit}});
}

Value explain_totals(const std::vector<Explained>& rows, json::Arena& arena) {
  std::array<std::uint64_t, 4> fates{};
  std::array<std::uint64_t, kReasons> reasons{};
  for (const Explained& row : rows) {
    ++fates[static_cast<int>(row.fate)];
    ++reasons[static_cast<int>(row.reason)];
  }
  json::ObjectBuilder by_fate(arena), by_reason(arena);
  for (int i = 0; i < 4; ++i) by_fate.add(name(static_cast<Fate>(i)), fates[i]);
  for (std::size_t i = 0; i < kReasons; ++i) {
    if (reasons[i] > 0) by_reason.add(kReasonNames[i], reasons[i]);
  }
  return json::make_object(arena, {{"fates", by_fate.build()}, {"reasons", by_reason.build()}});
}

}  // namespace weir::ctree
