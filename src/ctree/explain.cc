#include "ctree/explain.h"

#include <algorithm>

namespace weir::ctree {

using json::Value;

std::string_view name(Fate fate) {
  constexpr std::string_view kNames[] = {"kept", "dropped", "collapsed", "outside"};
  return kNames[static_cast<int>(fate)];
}

Explained Explaining::row(Ordinal ordinal) {
  const Node& node = nodes_[ordinal];
  const Overlay* over = state_.overlay(ordinal);
  Explained row{.ordinal = ordinal,
                .seq = node.seq,
                .node_id = node_id(ordinal, hashes_[ordinal].digest),
                .turn = node.turn,
                .bytes = over != nullptr ? over->bytes : node.bytes};
  row.kind = state_.words.text(node.kind);
  row.role = state_.words.text(node.role);
  row.unit = state_.unit_of(node);
  row.reason = selection_.reason(state_, ordinal, node);
  const bool collapsed = std::binary_search(selection_.collapsed.begin(), selection_.collapsed.end(), ordinal);
  row.fate = collapsed ? Fate::collapsed : is_kept(row.reason) ? Fate::kept : is_dropped(row.reason) ? Fate::dropped : Fate::outside;
  return row;
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

void ExplainTotals::add(const Explained& row) {
  ++fates[static_cast<int>(row.fate)];
  ++reasons[static_cast<int>(row.reason)];
}

Value ExplainTotals::to_json(json::Arena& arena) const {
  json::ObjectBuilder by_fate(arena), by_reason(arena);
  for (int i = 0; i < 4; ++i) by_fate.add(name(static_cast<Fate>(i)), fates[i]);
  for (std::size_t i = 0; i < kReasons; ++i) {
    if (reasons[i] > 0) by_reason.add(kReasonNames[i], reasons[i]);
  }
  return json::make_object(arena, {{"fates", by_fate.build()}, {"reasons", by_reason.build()}});
}

}  // namespace weir::ctree
