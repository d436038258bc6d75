#include "ctree/breadboard_collapse.h"

#include <algorithm>
#include <limits>
#include <set>

#include "ctree/breadboard_python.h"
#include "ctree/breadboard_select.h"

namespace weir::breadboard {
namespace {

Error no_number() { return Error(ErrorCode::INVALID_FIELD, "the collapse target is no whole number").with("what", std::string("target")); }

// How many ids stay; nothing is dropped without a target.
struct Target {
  Value echoed;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};

Result<Target> target_of(const Value& given, std::size_t node_count) {
  if (given.is_null()) return Target{};
  if (is_int(given)) return is_negative(given) ? Target{} : Target{given, nearest_int64(given)};
  if (given.kind() != Kind::real) return no_number();
  if (!(given.real() >= 0)) return Target{};
  // Python compares with a fraction, but does not cut a list by one.
  if (static_cast<double>(node_count) > given.real()) return no_number();
  return Target{given};
}

std::string mode_of(const Value& given) { return given.is_string() && lower(strip(given.text())) == "none" ? "none" : "all_but_last"; }

using Kinds = std::set<std::string, std::less<>>;

Result<Kinds> kinds_of(const Value& given) {
  Kinds kinds;
  if (!is_true(given)) return kinds;
  TRY(const std::vector<Value> items, iterate(given, "kind_allowlist"));
  for (const Value& item : items) {
    TRY(std::string kind, to_str(item, "an entry of kind_allowlist"));
    if (!is_blank(kind)) kinds.insert(std::move(kind));
  }
  return kinds;
}

Value stage_of(std::string_view stage, const CollapsePlan& plan, const Value& drop, const Value& collapse) {
  return Value::object({{"stage", stage},
                        {"target", plan.target},
                        {"drop", drop},
                        {"collapse", collapse},
                        {"node_count", plan.node_count},
                        {"ordering", "append"}});
}

Value policy_of(const Store& store, const CollapsePlan& plan, const Kinds& kinds) {
  const Value none = Value::array({}), drop = store.ids(plan.drop), collapse = store.ids(plan.collapse);
  return Value::object({{"kind", "deterministic"},
                        {"target", plan.target},
                        {"mode", plan.mode},
                        {"kinds", kinds.empty() ? Value() : Value::array({kinds.begin(), kinds.end()})},
                        {"ordering", "append"},
                        {"drop", drop},
                        {"collapse", collapse},
                        {"node_count", plan.node_count},
                        {"dropped", plan.drop.size()},
                        {"collapsed", plan.collapse.size()},
                        {"stages", Value::array({stage_of("RAW", plan, none, none), stage_of("SPEC", plan, drop, none),
                                                 stage_of("HEADER", plan, drop, collapse), stage_of("FROZEN", plan, drop, collapse)})}});
}

}  // namespace

Result<CollapsePlan> plan_collapse(const Store& store, const Ordinals& ids, const Value& target, const Value& mode) {
  TRY(const Target limit, target_of(target, ids.size()));
  CollapsePlan out{limit.echoed, mode_of(mode), ids.size(), {}, {}};
  const std::int64_t over = static_cast<std::int64_t>(ids.size()) - limit.most;
  if (over > 0) out.drop.assign(ids.begin(), ids.begin() + over);
  if (out.mode == "none") return out;
  const std::vector<bool> dropped = marks(store, out.drop);
  std::copy_if(ids.begin(), ids.end(), std::back_inserter(out.collapse), [&](std::size_t id) { return !dropped[id]; });
  if (!out.collapse.empty()) out.collapse.pop_back();
  return out;
}

Result<Value> collapse_policy(const Store& store, const CollapseArgs& args) {
  TRY(const Kinds kinds, kinds_of(args.kind_allowlist));
  Ordinals ids;
  for (const Node& node : store.nodes()) {
    if (kinds.empty() || kinds.contains(node.kind)) ids.push_back(node.first);
  }
  TRY(const CollapsePlan plan, plan_collapse(store, ids, args.target, args.mode));
  return policy_of(store, plan, kinds);
}

Result<Value> collapse_ctree(const Store& store) {
  TRY(Value policy, collapse_policy(store, {}));
  return Value::object({{"kind", "stub"},
                        {"collapsed", true},
                        {"stage", "FROZEN"},
                        {"node_count", store.size()},
                        {"hashes", Value::object({{"node_hash", store.node_hash()}})},
                        {"policy", std::move(policy)}});
}

}  // namespace weir::breadboard
