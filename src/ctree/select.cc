#include "ctree/select.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/secrets.h"
#include "ctree/kind.h"
#include "session/bodies.h"

namespace weir::ctree {
namespace {

using State = NodesFold::State;

// Nodes kept or dropped together, as far as they are candidates.
struct Unit {
  Ordinal first = kNoNode, last = 0;
  std::uint64_t nodes = 0, bytes = 0, chars = 0, tokens = 0;
  std::uint64_t counted = 0;  // of the kinds that are collapsed
  bool held = false;
  std::optional<Reason> dropped;
};

class Selecting {
 public:
  Selecting(const State& state, const CompileConfig& config)
      : state_(state),
        config_(config),
        end_(static_cast<Ordinal>(state.size())),
        message_(state.words.find(kMessage)),
        checkpoint_(state.words.find(kCheckpoint)) {}

  Result<Selection> run() {
    scope();
    mark_candidates();
    TRY_DO(find_pins());
    hold_units();
    force_out();
    name_pins();
    if (limited()) {
      gather_units();
      limit_turns();
      limit_nodes();
      limit_sizes();
      drop_to_target();
      drop_nodes();
    }
    tally();
    collapse();
    return std::move(out_);
  }

 private:
  Reason& at(Ordinal i) {
    if (i >= out_.first) return out_.reasons[i - out_.first];
    return std::lower_bound(out_.earlier.begin(), out_.earlier.end(), i, [](const auto& e, Ordinal o) { return e.first < o; })->second;
  }
  bool known(Ordinal i) const {
    if (i >= out_.first) return true;
    const auto it = std::lower_bound(out_.earlier.begin(), out_.earlier.end(), i, [](const auto& e, Ordinal o) { return e.first < o; });
    return it != out_.earlier.end() && it->first == i;
  }

  // Every candidate in append order.
  template <typename Visit>
  void each_candidate(Visit&& visit) {
    for (auto& [ordinal, reason] : out_.earlier) {
      if (is_candidate(reason)) visit(ordinal, state_.nodes[ordinal], reason);
    }
    state_.nodes.each(out_.first, end_, [&](std::size_t i, const Node& node) {
      Reason& reason = out_.reasons[i - out_.first];
      if (is_candidate(reason)) visit(static_cast<Ordinal>(i), node, reason);
    });
  }

  // ---- scope and candidates ----

  void scope() {
    const auto& checkpoint = state_.checkpoint;
    out_.barrier = checkpoint.has_value();
    if (!out_.barrier) return;
    barrier_ = checkpoint->ordinal;
    if (config_.whole_path) return;
    out_.first = barrier_;
    if (checkpoint->has_replacement) return;
    // Older compactions are out wherever they stand.
    const auto superseded = [&](Ordinal i) { return state_.nodes[i].kind == checkpoint_; };
    if (checkpoint->has_kept) {
      const auto& kept = *checkpoint->kept;
      const auto first = std::find_if_not(kept.begin(), kept.end(), superseded);
      if (first != kept.end()) out_.first = *first;
    } else if (checkpoint->first_kept != kNoNode) {
      out_.first = checkpoint->first_kept;
      while (out_.first < barrier_ && superseded(out_.first)) ++out_.first;
    }
  }

  bool in_window(Ordinal i) const {
    return !state_.checkpoint->has_kept || std::binary_search(state_.checkpoint->kept->begin(), state_.checkpoint->kept->end(), i);
  }

  void mark_candidates() {
    std::vector<bool> allowed(state_.words.size() + 1);
    for (Word word = 1; word <= state_.words.size(); ++word) allowed[word] = config_.selection.kinds.has(state_.words.text(word));
    if (config_.selection.kinds.has("")) allowed[0] = true;
    messages_ = config_.selection.kinds.has(kMessage);
    checkpoints_ = config_.selection.kinds.has(kCheckpoint);
    out_.reasons.resize(end_ - out_.first);
    state_.nodes.each(out_.first, end_, [&](std::size_t i, const Node& node) {
      Reason reason = allowed[node.kind] && !node.control ? Reason::in_scope : Reason::kind;
      checkpoints_in_range_ += node.kind == checkpoint_;
      if (!config_.whole_path && i < barrier_) {
        if (node.kind == checkpoint_) {
          reason = Reason::superseded_checkpoint;
        } else if (!in_window(static_cast<Ordinal>(i))) {
          reason = Reason::before_barrier;
        } else if (reason == Reason::in_scope) {
          reason = Reason::kept_window;
        }
      }
      out_.reasons[i - out_.first] = reason;
    });
  }

  // ---- pins ----

  void pin(Ordinal ordinal, Reason reason) { pins_.emplace_back(ordinal, reason); }

  Result<void> find_pins() {
    const CompileConfig::Selection& s = config_.selection;
    if (out_.barrier && checkpoints_ && !state_.removed(barrier_)) pin(barrier_, Reason::pin_checkpoint);
    if (messages_) {
      const std::size_t systems = state_.systems.size();
      for (std::size_t i = 0; s.pin_first_system && i < systems; ++i) {
        if (state_.removed(state_.systems[i])) continue;
        pin(state_.systems[i], Reason::pin_first_system);
        break;
      }
      for (std::size_t i = systems; s.pin_latest_system && i-- > 0;) {
        if (state_.removed(state_.systems[i])) continue;
        pin(state_.systems[i], Reason::pin_latest_system);
        break;
      }
      if (s.pin_latest_user_assistant) {
        pin_latest(Role::user, Reason::pin_latest_user);
        pin_latest(Role::assistant, Reason::pin_latest_assistant);
      }
    }
    if (s.pin_labels) state_.pins.each([&](Ordinal ordinal, bool) { pin(ordinal, Reason::pin_label); });
    for (const std::string& id : s.pin_ids) {
      const auto ordinal = state_.find(id);
      if (!ordinal)
        return Error(ErrorCode::NODE_UNKNOWN, "no node '" + masked_excerpt(id, 80) + "' is on the path")
            .with("node", masked_excerpt(id, 80));
      pin(*ordinal, Reason::pin_id);
    }
    std::erase_if(pins_, [&](const auto& p) { return state_.nodes[p.first].control; });
    return {};
  }

  void pin_latest(Role role, Reason reason) {
    const Word word = state_.words.find(role_name(role));
    for (Ordinal i = end_; i-- > out_.first;) {
      const Node& node = state_.nodes[i];
      if (node.role != word || node.kind != message_ || node.result || !is_candidate(out_.reasons[i - out_.first]) || state_.removed(i))
        continue;
      pin(i, reason);
      return;
    }
  }

  // Pins and what is in one unit with them are candidates wherever they lie.
  void hold_units() {
    std::set<Ordinal> units;  // of those that are there
    for (const auto& [ordinal, reason] : pins_) {
      if (!state_.removed(ordinal)) units.insert(state_.unit_of(ordinal));
      if (ordinal >= out_.first) at(ordinal) = Reason::pair;
    }
    std::set<Ordinal> early;
    for (const auto& [ordinal, reason] : pins_) {
      if (ordinal < out_.first) early.insert(ordinal);
    }
    if (const Ordinal from = units.empty() ? end_ : *units.begin(); from < out_.first) {
      std::set<Ordinal> before;  // units that begin there; whatever belongs to them follows
      for (const Ordinal unit : units) {
        if (unit < out_.first) before.insert(unit);
      }
      if (!std::all_of(before.begin(), before.end(), [&](Ordinal unit) { return single(unit); })) {
        state_.nodes.each(from, out_.first, [&](std::size_t i, const Node& node) {
          if (before.contains(root(node))) early.insert(static_cast<Ordinal>(i));
        });
      }
      early.insert(before.begin(), before.end());
    }
    for (const Ordinal ordinal : early) out_.earlier.emplace_back(ordinal, Reason::pair);
    std::erase_if(units, [&](Ordinal unit) { return single(unit); });
    if (units.empty()) return;
    state_.nodes.each(std::max(*units.begin(), out_.first), end_, [&](std::size_t i, const Node& node) {
      if (units.contains(root(node))) out_.reasons[i - out_.first] = Reason::pair;
    });
  }

  // Can no other node be part of this unit? Only a message with calls gathers others.
  bool single(Ordinal unit) const { return !state_.nodes[unit].makes_calls; }

  void name_pins() {
    for (const auto& [ordinal, reason] : pins_) {
      if (Reason& now = at(ordinal); now == Reason::pair) now = reason;
    }
  }

  // ---- forced out ----

  bool is_left(Ordinal i) { return known(i) && is_kept(at(i)) && !state_.removed(i); }

  void force_out() {
    state_.edits.each([&](Ordinal ordinal, const Overlay& edit) {
      if (edit.removed && known(ordinal) && is_candidate(at(ordinal))) at(ordinal) = Reason::edited_out;
    });
    each_candidate([&](Ordinal i, const Node& node, Reason& reason) {
      if (!node.result || !is_kept(reason)) return;
      const std::vector<Ordinal>* callers = state_.more_calls.empty() ? nullptr : state_.more_calls.find(i);
      const bool answered = callers != nullptr ? std::any_of(callers->begin(), callers->end(), [&](Ordinal c) { return is_left(c); })
                                               : node.call != kNoNode && is_left(node.call);
      if (!answered) reason = Reason::orphan_result;
    });
  }

  // ---- limits ----

  bool limited() const {
    const auto& s = config_.selection;
    return s.max_nodes || s.max_turns || s.max_message_chars || s.max_bytes || s.max_tokens || config_.collapse.target;
  }

  const Overlay* overlay(Ordinal i) const { return plain_ ? nullptr : state_.overlay(i); }
  std::uint64_t cost(Ordinal i, const Node& node) const {
    const Overlay* over = overlay(i);
    const std::uint64_t bytes = over != nullptr ? over->bytes : node.bytes;
    const Limit& most = config_.selection.max_item_bytes;
    return most && node.result && bytes > *most ? *most : bytes;
  }
  std::uint64_t chars(Ordinal i, const Node& node) const {
    const Overlay* over = overlay(i);
    const std::uint32_t count = over != nullptr ? over->chars : node.chars;
    return count == kNoChars ? 0 : count;
  }
  Ordinal root(const Node& node) const { return state_.unit_of(node); }

  void gather_units() {
    unit_at_.assign(end_ - out_.first, 0);
    units_.reserve(end_ - out_.first);
    roots_.assign(end_ - out_.first, kNoNode);
    each_candidate([&](Ordinal i, const Node& node, Reason& reason) {
      if (!is_kept(reason)) return;
      if (i >= out_.first) roots_[i - out_.first] = root(node);
      Unit& unit = unit_at(root(node));
      unit.first = std::min(unit.first, i);
      unit.last = std::max(unit.last, i);
      const std::uint64_t bytes = cost(i, node);
      ++unit.nodes;
      unit.bytes += bytes;
      unit.chars += chars(i, node);
      unit.tokens += node_tokens(bytes);
      unit.counted += config_.collapse.target && collapsible(node);
      unit.held |= is_held(reason);
    });
    for (const Unit& unit : units_) {
      if (!unit.held) continue;
      held_.nodes += unit.nodes;
      held_.bytes += unit.bytes;
      held_.chars += unit.chars;
      held_.tokens += unit.tokens;
    }
  }

  Unit& unit_of(Ordinal i) { return unit_at(roots_[i - out_.first]); }

  Unit& unit_at(Ordinal root) {
    std::uint32_t& place = root < out_.first ? early_unit_at_[root] : unit_at_[root - out_.first];
    if (place == 0) {
      units_.emplace_back();
      place = static_cast<std::uint32_t>(units_.size());
    }
    return units_[place - 1];
  }

  // Units that may still go, newest first: by their last node, and no two have the same.
  template <typename Visit>
  void newest_first(Visit&& visit) {
    for (Ordinal i = end_; i-- > out_.first;) {
      if (!is_kept(out_.reasons[i - out_.first])) continue;
      Unit& unit = unit_of(i);
      if (unit.last == i && !unit.held && !unit.dropped) visit(unit);
    }
  }

  // What units were dropped for, told to their nodes in one pass: a unit may reach far, and many may reach as far.
  void drop_nodes() {
    for (std::size_t i = 0; i < roots_.size(); ++i) {
      if (!is_kept(out_.reasons[i])) continue;
      if (const auto& dropped = unit_at(roots_[i]).dropped) out_.reasons[i] = *dropped;
    }
  }

  void over(std::string_view name, std::uint64_t allowed, std::uint64_t pinned) {
    if (pinned > allowed) out_.over_budget.push_back({name, allowed, pinned});
  }

  void limit_turns() {
    const Limit& limit = config_.selection.max_turns;
    if (!limit) return;
    std::set<std::int64_t> turns, held;
    each_candidate([&](Ordinal, const Node& node, Reason& reason) {
      if (!is_kept(reason) || node.turn == kNoTurn) return;
      turns.insert(node.turn);
      if (is_held(reason)) held.insert(node.turn);
    });
    over("max_turns", *limit, held.size());
    while (turns.size() > *limit) turns.erase(turns.begin());
    newest_first([&](Unit& unit) {
      const std::int64_t turn = state_.nodes[unit.first].turn;
      if (*limit == 0 || (turn != kNoTurn && !turns.contains(turn))) unit.dropped = Reason::max_turns;
    });
  }

  void limit_nodes() {
    const Limit& limit = config_.selection.max_nodes;
    if (!limit) return;
    over("max_nodes", *limit, held_.nodes);
    std::uint64_t left = *limit > held_.nodes ? *limit - held_.nodes : 0;
    bool ended = false;
    newest_first([&](Unit& unit) {
      ended |= unit.nodes > left;
      if (ended) {
        unit.dropped = Reason::max_nodes;
      } else {
        left -= unit.nodes;
      }
    });
  }

  struct Budget {
    const Limit& limit;
    std::string_view name;
    Reason reason;
    std::uint64_t Unit::* cost;
    std::uint64_t held;
    std::uint64_t left = 0;
  };

  void limit_sizes() {
    const CompileConfig::Selection& s = config_.selection;
    if (!s.max_message_chars && !s.max_bytes && !s.max_tokens) return;
    Budget budgets[] = {{s.max_message_chars, "max_message_chars", Reason::budget_chars, &Unit::chars, held_.chars},
                        {s.max_bytes, "max_bytes", Reason::budget_bytes, &Unit::bytes, held_.bytes},
                        {s.max_tokens, "max_tokens", Reason::budget_tokens, &Unit::tokens, held_.tokens}};
    for (Budget& budget : budgets) {
      if (!budget.limit) continue;
      over(budget.name, *budget.limit, budget.held);
      budget.left = *budget.limit > budget.held ? *budget.limit - budget.held : 0;
    }
    // Nothing fits into no room, not even what needs none.
    const auto missed = [](const Budget& budget, const Unit& unit) {
      return budget.limit && (*budget.limit == 0 || budget.held > *budget.limit || unit.*budget.cost > budget.left);
    };
    const Budget* ended = nullptr;
    newest_first([&](Unit& unit) {
      const auto it = std::find_if(std::begin(budgets), std::end(budgets), [&](const Budget& budget) { return missed(budget, unit); });
      const Budget* const miss = it != std::end(budgets) ? it : ended;
      if (miss == nullptr) {
        for (Budget& budget : budgets) budget.left -= budget.limit ? unit.*budget.cost : 0;
        return;
      }
      unit.dropped = miss->reason;
      if (s.stop_at_first_miss && ended == nullptr) ended = miss;
    });
  }

  bool collapsible(const Node& node) const { return !config_.collapse.kinds || config_.collapse.kinds->has(state_.words.text(node.kind)); }

  void drop_to_target() {
    const Limit& target = config_.collapse.target;
    if (!target) return;
    std::uint64_t count = 0, held = 0;
    for (const Unit& unit : units_) {
      if (!unit.dropped) count += unit.counted;
      if (unit.held) held += unit.counted;
    }
    over("target", *target, held);
    for (Ordinal i = out_.first; i < end_ && count > *target; ++i) {
      if (!is_kept(out_.reasons[i - out_.first])) continue;
      Unit& unit = unit_of(i);
      if (unit.last != i || unit.held || unit.dropped || unit.counted == 0) continue;
      unit.dropped = Reason::collapse_target;
      count -= unit.counted;
    }
  }

  // ---- the result ----

  void tally() {
    out_.kept.reserve(out_.reasons.size());
    if (limited()) out_.dropped.reserve(out_.reasons.size());
    std::set<std::int64_t> turns;
    std::int64_t last_turn = kNoTurn;
    std::uint64_t outside_before = out_.first - out_.earlier.size();
    each_candidate([&](Ordinal i, const Node& node, Reason& reason) {
      ++out_.counts[static_cast<int>(reason)];
      if (!is_kept(reason)) {
        out_.dropped.push_back(i);
        return;
      }
      out_.kept.push_back(i);
      if (is_pin(reason)) out_.pinned.push_back(i);
      const std::uint64_t bytes = cost(i, node);
      out_.used.bytes += bytes;
      out_.used.chars += chars(i, node);
      out_.used.tokens += node_tokens(bytes);
      if (node.turn != last_turn && node.turn != kNoTurn) turns.insert(last_turn = node.turn);
    });
    for (const Reason reason : out_.reasons) {
      if (!is_candidate(reason)) ++out_.counts[static_cast<int>(reason)];
    }
    out_.used.nodes = out_.kept.size();
    out_.used.turns = turns.size();
    count_before(outside_before);
  }

  // What lies before the scope: compactions that were superseded, and the rest.
  void count_before(std::uint64_t outside) {
    if (out_.first == 0) return;
    const std::uint64_t checkpoints = checkpoints_before();
    out_.counts[static_cast<int>(Reason::superseded_checkpoint)] += checkpoints;
    out_.counts[static_cast<int>(Reason::before_barrier)] += outside - checkpoints;
  }

  std::uint64_t checkpoints_before() {
    const std::uint32_t* all = state_.kind_counts.find(checkpoint_);
    std::uint64_t count = (all == nullptr ? 0 : *all) - checkpoints_in_range_;
    for (const auto& [ordinal, reason] : out_.earlier) count -= state_.nodes[ordinal].kind == checkpoint_;
    return count;
  }

  void collapse() {
    if (!config_.collapse.all_but_last) return;
    Ordinal latest = kNoNode;
    for (auto it = out_.kept.rbegin(); it != out_.kept.rend() && latest == kNoNode; ++it) {
      if (collapsible(state_.nodes[*it])) latest = *it;
    }
    if (latest == kNoNode) return;
    const Ordinal unit = state_.unit_of(latest);
    for (const Ordinal i : out_.kept) {
      if (!is_held(at(i)) && collapsible(state_.nodes[i]) && state_.unit_of(i) != unit) out_.collapsed.push_back(i);
    }
  }

  const State& state_;
  const CompileConfig& config_;
  const Ordinal end_;
  const Word message_, checkpoint_;
  const bool plain_ = state_.edits.empty() && state_.attached.empty();  // every node is as it was made
  Ordinal barrier_ = 0;
  bool messages_ = false, checkpoints_ = false;
  std::uint64_t checkpoints_in_range_ = 0;
  std::vector<std::pair<Ordinal, Reason>> pins_;
  std::vector<std::uint32_t> unit_at_;  // first node of a unit -> its place in units_, from 1
  std::map<Ordinal, std::uint32_t> early_unit_at_;
  std::vector<Ordinal> roots_;  // of the kept ones in scope: the first node of their unit
  std::vector<Unit> units_;
  Usage held_;
  Selection out_;
};

}  // namespace

std::uint64_t cost_bytes(const State& state, Ordinal ordinal, const Limit& max_item_bytes) {
  const std::uint64_t bytes = state.bytes(ordinal);
  if (!max_item_bytes || bytes <= *max_item_bytes) return bytes;
  return state.nodes[ordinal].result ? *max_item_bytes : bytes;
}

Reason Selection::reason(const State& state, Ordinal ordinal, const Node& node) const {
  if (ordinal >= first) return reasons[ordinal - first];
  const auto it = std::lower_bound(earlier.begin(), earlier.end(), ordinal, [](const auto& e, Ordinal o) { return e.first < o; });
  if (it != earlier.end() && it->first == ordinal) return it->second;
  return state.words.text(node.kind) == kCheckpoint ? Reason::superseded_checkpoint : Reason::before_barrier;
}

std::uint64_t Selection::candidates() const { return kept.size() + dropped.size(); }

Result<Selection> select(const State& state, const CompileConfig& config) { return Selecting(state, config).run(); }

}  // namespace weir::ctree
