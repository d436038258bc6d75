#include "ctree/payload.h"

namespace weir::ctree {

std::string_view KnownNames::call(std::string_view id) { return arena_.copy(alias_name("call", state_.call_aliases.find(id).value_or(0))); }

std::string_view KnownNames::task(std::string_view id) { return arena_.copy(alias_name("task", state_.task_aliases.find(id).value_or(0))); }

std::optional<Names::Place> KnownNames::entry(std::string_view id) {
  const auto found = state_.entries.find(id);
  if (!found) return std::nullopt;
  return Place{*found / 2, *found % 2 != 0};
}

std::optional<Ordinal> KnownNames::compaction(std::string_view pointer) {
  const auto found = state_.compactions.find(pointer);
  return found ? std::optional<Ordinal>(*found) : std::nullopt;
}

std::string_view KnownNames::node_id(Ordinal ordinal) { return arena_.copy(state_.id(ordinal)); }

std::optional<Draft> draft_again(const NodesFold& fold, const NodesFold::State& state, Ordinal ordinal, const Entry& entry,
                                 const json::Value& body, json::Arena& arena) {
  KnownNames names(state, arena);
  auto draft = draft_node(entry, body, 0, ordinal, names, fold.sanitiser(), arena);
  if (draft) draft->turn = state.nodes[ordinal].turn;
  return draft;
}

}  // namespace weir::ctree
