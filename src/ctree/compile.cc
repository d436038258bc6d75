#include "ctree/compile.h"

#include <algorithm>
#include <limits>

#include "ctree/kind.h"
#include "json/canonical.h"

namespace weir::ctree {
namespace {

using json::Arena;
using json::Domain;
using json::Value;
using State = NodesFold::State;

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

std::size_t control_count(const State& state) {
  std::size_t out = 0;
  for (const std::string_view kind : {kContextEdit, kSnapshotAttached}) {
    if (const std::uint32_t* count = state.kind_counts.find(state.words.find(kind))) out += *count;
  }
  return out;
}

std::size_t before(const std::vector<Ordinal>& list, Ordinal end) {
  return static_cast<std::size_t>(std::lower_bound(list.begin(), list.end(), end) - list.begin());
}

// How far the lists are the ones the memo saw: up to the first node whose fate is another one.
void compare_with(CompileMemo& memo, const NodesFold& fold, const State& state, const Selection& now, const std::string& config) {
  StageMemos& lists = memo.lists;
  lists.same_dropped = lists.same_selected = lists.same_messages = 0;
  const Selection& then = memo.selection;
  if (memo.config != config || memo.nodes == 0 || memo.nodes > state.size() || memo.controls != control_count(state)) return;
  if (then.first != now.first || then.barrier != now.barrier || then.earlier != now.earlier) return;
  if (fold.node_hash(state, memo.nodes) != memo.node_hash) return;
  const auto differs = std::mismatch(then.reasons.begin(), then.reasons.end(), now.reasons.begin(), now.reasons.end()).second;
  const Ordinal end = now.first + static_cast<Ordinal>(differs - now.reasons.begin());
  lists.same_dropped = before(now.dropped, end);
  const bool dropped_same = lists.same_dropped == now.dropped.size() && now.dropped.size() == then.dropped.size();
  if (dropped_same) lists.same_selected = before(now.kept, end);
  if (then.collapsed.empty() && now.collapsed.empty()) lists.same_messages = before(now.kept, end);
}

Value ids_json(const State& state, const std::vector<Ordinal>& nodes, Arena& arena) {
  std::vector<Value> out;
  for (const Ordinal node : nodes) out.push_back(arena.copy(state.id(node)));
  return json::make_array(arena, out);
}

std::vector<Ordinal> dropped_to_target(const State& state, const Selection& selection) {
  std::vector<Ordinal> out;
  if (selection.counts[static_cast<int>(Reason::collapse_target)] == 0) return out;
  for (const Ordinal node : selection.dropped) {
    if (selection.reason(state, node) == Reason::collapse_target) out.push_back(node);
  }
  return out;
}

// The collapse policy, as the output and the summary show it.
void write_collapse(const State& state, Compiled& out) {
  Arena arena;
  const CompileConfig::Collapse& policy = out.config.collapse;
  const std::vector<Ordinal> dropped = dropped_to_target(state, out.selection);
  const std::size_t drop = dropped.size(), collapse = out.selection.collapsed.size();
  const auto stage = [&](std::size_t c, std::size_t d) { return json::make_object(arena, {{"collapse", c}, {"drop", d}}); };
  const Value mode = policy.all_but_last ? "all_but_last" : "none", target = policy.target ? Value(*policy.target) : Value();
  const Value stages = json::make_object(
      arena, {{"RAW", stage(0, 0)}, {"SPEC", stage(0, drop)}, {"HEADER", stage(collapse, drop)}, {"FROZEN", stage(collapse, drop)}});
  out.collapse_text = json::canonical(json::make_object(arena, {{"kind", "deterministic"},
                                                                {"target", target},
                                                                {"mode", mode},
                                                                {"kinds", out.config.collapse_kinds_json(arena)},
                                                                {"ordering", "append"},
                                                                {"node_count", out.nodes},
                                                                {"dropped", drop},
                                                                {"collapsed", collapse},
                                                                {"drop", ids_json(state, dropped, arena)},
                                                                {"collapse", ids_json(state, out.selection.collapsed, arena)},
                                                                {"stages", stages}}));
}

void write_summary(const NodesFold& fold, Compiled& out) {
  Arena arena;
  json::ObjectBuilder compiler(arena), summary(arena);
  for (int i = 0; i < 4; ++i) compiler.add(arena.copy("z" + std::to_string(i + 1)), arena.copy(out.z[i].hex()));
  const CompileConfig::Collapse& policy = out.config.collapse;
  const std::size_t collapsed = out.selection.collapsed.size();
  const std::uint64_t target_drops = out.selection.counts[static_cast<int>(Reason::collapse_target)];
  summary.add("schema_version", out.schema_version)
      .add("snapshot", out.snapshot_json(arena))
      .add("compiler", compiler.build())
      .add("selection", json::make_object(arena, {{"candidate_count", out.selection.candidates()},
                                                  {"collapsed_count", collapsed},
                                                  {"dropped_count", out.selection.dropped.size()},
                                                  {"selected_count", out.selection.kept.size()},
                                                  {"selection_sha256", arena.copy(out.selection_sha256.hex())}}))
      .add("collapse", json::make_object(arena, {{"collapsed", collapsed},
                                                 {"dropped", target_drops},
                                                 {"mode", policy.all_but_last ? "all_but_last" : "none"},
                                                 {"ordering", "append"},
                                                 {"target", policy.target ? Value(*policy.target) : Value()}}));
  const Value plain = summary.build();
  summary.add("summary_sha256", arena.copy(fold.hasher().value(Domain::summary, plain).hex()));
  out.summary_text = json::canonical(summary.build());
}

}  // namespace

Result<Compiled> compile(const NodesFold& fold, const State& state, const CompileRequest& request) {
  Compiled out;
  out.config = request.config;
  TRY(out.selection, select(state, request.config));
  out.schema_version = fold.schema_version();
  out.nodes = state.size();
  if (out.nodes > 0) out.last_id = state.id(static_cast<Ordinal>(out.nodes - 1));
  out.node_hash = fold.node_hash(state);
  Arena arena;
  const std::string config_text = json::canonical(request.config.to_json(arena));
  out.config_sha256 = fold.hasher().text(Domain::config, config_text);
  CompileMemo once;
  CompileMemo& memo = request.memo != nullptr ? *request.memo : once;
  compare_with(memo, fold, state, out.selection, config_text);

  const ItemWords words(state.words);
  const std::uint64_t most = request.full ? kNoLimit : request.config.max_stage_bytes.value_or(kNoLimit);
  const StageInput in{fold, state, out.config, out.selection, words, most};
  std::optional<Digest> prompt;
  if (request.prompt_summary)
    prompt = fold.hasher().value(Domain::prompt,
                                 fold.sanitiser().masked(fold.sanitiser().without_volatile(*request.prompt_summary, arena), arena));
  out.has_prompt = prompt.has_value();
  StageResult raw = write_raw(in, prompt);
  SpecResult spec = write_spec(in, memo.lists);
  HeaderResult header = write_header(in, spec.selection_sha256, request.previews, memo.lists);
  out.selection_sha256 = spec.selection_sha256;
  out.selection_text = std::move(spec.selection_text);
  out.z = {raw.z, spec.z, header.header.z, header.frozen.z};
  out.stages = {std::move(raw.text), std::move(spec.text), std::move(header.header.text), std::move(header.frozen.text)};
  if (state.edits_without_target > 0) out.warnings.push_back("edit_without_target");
  write_collapse(state, out);
  write_summary(fold, out);
  if (request.memo != nullptr) {
    memo.config = config_text;
    memo.nodes = out.nodes;
    memo.controls = control_count(state);
    memo.node_hash = out.node_hash;
    memo.selection = out.selection;
  }
  return out;
}

Value Compiled::hashes_json(Arena& arena) const {
  json::ObjectBuilder hashes(arena);
  hashes.add("node_hash", arena.copy(node_hash.hex())).add("selection_sha256", arena.copy(selection_sha256.hex()));
  for (int i = 0; i < 4; ++i) hashes.add(arena.copy("z" + std::to_string(i + 1)), arena.copy(z[i].hex()));
  return hashes.build();
}

Value Compiled::snapshot_json(Arena& arena) const {
  return json::make_object(arena, {{"event_count", nodes},
                                   {"last_id", last_id.empty() ? Value() : Value(last_id)},
                                   {"node_count", nodes},
                                   {"node_hash", arena.copy(node_hash.hex())},
                                   {"schema_version", schema_version}});
}

Value Compiled::to_json(Arena& arena) const {
  json::ObjectBuilder shown(arena);
  for (int i = 0; i < 4; ++i) shown.add(kStageNames[i], Value::raw(stages[i]));
  const std::vector<Value> notes(warnings.begin(), warnings.end());
  return json::make_object(arena, {{"kind", "ctree_compiler"},
                                   {"profile", kProfile},
                                   {"schema_version", schema_version},
                                   {"compiler_version", kProfile},
                                   {"node_count", nodes},
                                   {"event_count", nodes},
                                   {"has_prompt_summary", has_prompt},
                                   {"config", config.to_json(arena)},
                                   {"config_sha256", arena.copy(config_sha256.hex())},
                                   {"hashes", hashes_json(arena)},
                                   {"collapse", Value::raw(collapse_text)},
                                   {"stages", shown.build()},
                                   {"warnings", json::make_array(arena, notes)}});
}

}  // namespace weir::ctree
