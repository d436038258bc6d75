#include "ctree/tree_view.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/utf8.h"
#include "ctree/kind.h"
#include "ctree/values.h"
#include "json/canonical.h"

namespace weir::ctree {
namespace {

using json::Arena;
using json::Domain;
using json::Value;
using State = NodesFold::State;

constexpr std::string_view kRoot = "ctrees:root", kTasks = "ctrees:tasks";

struct Task {
  std::string_view id, parent, tree_path, subagent_type;
};

class TreeWriter {
 public:
  TreeWriter(const NodesFold& fold, const State& state, const Compiled& compiled, const TreeRequest& request, Arena& arena)
      : fold_(fold), state_(state), compiled_(compiled), request_(request), arena_(arena) {}

  Result<Value> run() {
    TRY_DO(load_payloads());
    root();
    turns();
    tasks();
    for (Ordinal i = 0; i < state_.size(); ++i) TRY_DO(leaf(i));
    if (request_.stage >= Stage::HEADER) collapsed();
    std::string ids;
    for (const Value& node : nodes_) {
      ids += ids.empty() ? '[' : ',';
      json::write_canonical(*node.find("id"), ids);
    }
    json::ObjectBuilder hashes(arena_);
    const Value own = compiled_.hashes_json(arena_);
    for (const json::Member& member : own.members()) hashes.add(member.key, member.value);
    hashes.add("tree_sha256", arena_.copy(fold_.hasher().text(Domain::tree, ids + "]").hex()));
    return json::make_object(arena_, {{"profile", kProfile},
                                      {"source", "log"},
                                      {"stage", name(request_.stage)},
                                      {"root_id", kRoot},
                                      {"nodes", json::make_array(arena_, nodes_)},
                                      {"selection", Value::raw(compiled_.selection_text)},
                                      {"hashes", hashes.build()},
                                      {"truncated", false}});
  }

 private:
  void add(std::string_view id, std::string_view kind, std::string_view label, Value meta, Value parent, Value turn) {
    nodes_.push_back(
        json::make_object(arena_, {{"id", id}, {"kind", kind}, {"label", label}, {"meta", meta}, {"parent_id", parent}, {"turn", turn}}));
  }

  std::string_view turn_id(std::int64_t turn) { return arena_.copy("ctrees:turn:" + std::to_string(turn)); }
  Value turn_parent(std::int64_t turn) { return turn == kNoTurn ? Value(kRoot) : Value(turn_id(turn)); }
  static Value turn_json(std::int64_t turn) { return turn == kNoTurn ? Value() : Value(turn); }

  void root() {
    json::ObjectBuilder meta(arena_);
    const Value hashes = compiled_.hashes_json(arena_);
    for (const json::Member& member : hashes.members()) meta.add(member.key, member.value);
    add(kRoot, "root", "C-Trees", meta.add("stage", name(request_.stage)).build(), Value(), Value());
  }

  void turns() {
    std::set<std::int64_t> all;
    state_.nodes.each(0, state_.size(), [&](std::size_t, const Node& node) {
      if (node.turn != kNoTurn) all.insert(node.turn);
    });
    for (const std::int64_t turn : all) {
      add(turn_id(turn), "turn", arena_.copy("Turn " + std::to_string(turn)), Value::object({}), kRoot, turn);
    }
  }

  // ---- tasks ----

  bool is_task(std::string_view kind) const { return kind == kTaskEvent || kind == kSubagent; }

  Result<void> load_payloads() {
    for (Ordinal i = 0; i < state_.size(); ++i) {
      const std::string_view kind = state_.words.text(state_.nodes[i].kind);
      if (!is_task(kind) && kind != "lifecycle" && kind != "guardrail") continue;
      TRY(payloads_[i], request_.payload(i));
      if (is_task(kind)) take_task(payloads_[i]);
    }
    return {};
  }

  void take_task(const Value& payload) {
    const std::string_view id = trimmed(payload.text_or("task_id", ""));
    if (id.empty()) return;
    const auto [it, fresh] = task_at_.emplace(id, tasks_.size());
    if (fresh) tasks_.push_back({.id = id});
    Task& task = tasks_[it->second];
    const auto first = [&](std::string_view key, std::string_view& out) {
      if (out.empty()) out = trimmed(payload.text_or(key, ""));
    };
    first("parent_task_id", task.parent);
    first("tree_path", task.tree_path);
    first("subagent_type", task.subagent_type);
  }

  // A link that would close a cycle is not made; those seen first are.
  std::vector<std::size_t> parents() const {
    std::vector<std::size_t> up(tasks_.size(), tasks_.size());
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      const auto found = task_at_.find(tasks_[i].parent);
      if (found == task_at_.end()) continue;
      std::size_t above = found->second;
      while (above != tasks_.size() && above != i) above = up[above];
      if (above != i) up[i] = found->second;
    }
    return up;
  }

  std::string_view task_id(std::string_view id) { return arena_.copy("ctrees:task:" + std::string(id)); }

  void tasks() {
    if (tasks_.empty()) return;
    add(kTasks, "task_root", "Tasks", Value::object({}), kRoot, Value());
    const std::vector<std::size_t> up = parents();
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      const Task& task = tasks_[i];
      json::ObjectBuilder meta(arena_);
      if (!task.parent.empty()) meta.add("parent_task_id", task.parent);
      if (!task.tree_path.empty()) meta.add("tree_path", task.tree_path);
      if (!task.subagent_type.empty()) meta.add("subagent_type", task.subagent_type);
      const Value parent = up[i] == tasks_.size() ? Value(kTasks) : Value(task_id(tasks_[up[i]].id));
      add(task_id(task.id), "task", arena_.copy("Task " + std::string(task.id)), meta.build(), parent, Value());
    }
  }

  // ---- leaves ----

  std::string_view label(Ordinal ordinal, std::string_view kind) {
    const auto with = [&](std::string_view stem, std::string_view what) {
      return what.empty() ? kind : arena_.copy(std::string(stem) + ":" + std::string(what));
    };
    if (kind == kMessage) return with("message", trimmed(state_.words.text(state_.nodes[ordinal].role)));
    const auto found = payloads_.find(ordinal);
    if (found == payloads_.end()) return kind.empty() ? "node" : kind;
    const auto text = [&](std::string_view key) { return trimmed(found->second.text_or(key, "")); };
    if (kind == kTaskEvent) return with("task", text("kind"));
    if (kind == kSubagent) return with("subagent", text("subagent_type"));
    return with(kind, text("type"));
  }

  Result<void> leaf(Ordinal ordinal) {
    const Selection& s = compiled_.selection;
    const Reason reason = s.reason(state_, ordinal);
    const bool gathered = std::binary_search(s.collapsed.begin(), s.collapsed.end(), ordinal);
    const bool hidden = request_.stage != Stage::RAW && (!is_kept(reason) || (gathered && request_.stage >= Stage::HEADER));
    if (hidden && !request_.show_all) return {};
    const Node& node = state_.nodes[ordinal];
    const std::string_view kind = state_.words.text(node.kind);
    Value parent = turn_parent(node.turn);
    if (is_task(kind)) {
      const std::string_view id = trimmed(payloads_[ordinal].text_or("task_id", ""));
      if (!id.empty()) parent = task_id(id);
    }
    TRY(const Value meta, leaf_meta(ordinal, node, reason, gathered));
    add(arena_.copy("ctrees:node:" + state_.id(ordinal)), kind, label(ordinal, kind), meta, parent, turn_json(node.turn));
    return {};
  }

  std::string_view short_word(Word word) const { return utf8_prefix(state_.words.text(word), 64); }

  Result<Value> leaf_meta(Ordinal ordinal, const Node& node, Reason reason, bool gathered) {
    const NodeHashes& hashes = state_.hashes[ordinal];
    const Overlay* over = state_.overlay(ordinal);
    json::ObjectBuilder meta(arena_);
    TRY(const std::string entry, request_.entry_id(ordinal));
    meta.add("digest", arena_.copy(hashes.digest.hex())).add("selected", is_kept(reason)).add("kept", is_kept(reason));
    meta.add("dropped", is_dropped(reason)).add("collapsed", gathered).add("reason", gathered ? kCollapseReason : name(reason));
    meta.add("bytes", state_.bytes(ordinal)).add("entry_id", arena_.copy(entry)).add("payload_hash", arena_.copy(hashes.payload.hex()));
    if (state_.words.text(node.kind) != kMessage || request_.stage < Stage::HEADER) return meta.build();
    if (node.role != 0) meta.add("role", short_word(node.role));
    if (hashes.name != 0) meta.add("name", short_word(hashes.name));
    if (over != nullptr ? over->has_content : node.has_content) {
      meta.add("content_hash", arena_.copy((over != nullptr ? over->content : hashes.content).hex()));
    }
    if (state_.chars(ordinal) != kNoChars) meta.add("content_len", state_.chars(ordinal));
    if (hashes.calls != 0) meta.add("tool_call_count", state_.calls[hashes.calls - 1].count);
    if (!compiled_.config.previews) return meta.build();
    if (const auto preview = request_.previews(ordinal)) {
      meta.add("preview", arena_.copy(preview->text))
          .add("preview_redacted", preview->redacted)
          .add("preview_truncated", preview->truncated);
    }
    return meta.build();
  }

  void collapsed() {
    std::map<std::int64_t, std::vector<Ordinal>> by_turn;
    for (const Ordinal ordinal : compiled_.selection.collapsed) by_turn[state_.nodes[ordinal].turn].push_back(ordinal);
    const auto write = [&](std::int64_t turn, const std::vector<Ordinal>& list) {
      std::vector<Value> ids;
      for (const Ordinal ordinal : list) ids.push_back(arena_.copy(state_.id(ordinal)));
      const Value all = json::make_array(arena_, ids);
      const Value meta = json::make_object(
          arena_, {{"collapsed_ids", all}, {"collapsed_sha256", arena_.copy(fold_.hasher().value(Domain::ids, all).hex())}});
      const std::string which = turn == kNoTurn ? "unknown" : std::to_string(turn);
      add(arena_.copy("ctrees:collapsed:" + which), kCollapsed, arena_.copy("collapsed " + std::to_string(list.size()) + " messages"), meta,
          turn_parent(turn), turn_json(turn));
    };
    for (const auto& [turn, list] : by_turn) {
      if (turn != kNoTurn) write(turn, list);
    }
    if (const auto none = by_turn.find(kNoTurn); none != by_turn.end()) write(kNoTurn, none->second);
  }

  const NodesFold& fold_;
  const State& state_;
  const Compiled& compiled_;
  const TreeRequest& request_;
  Arena& arena_;
  std::vector<Value> nodes_;
  std::map<Ordinal, Value> payloads_;
  std::vector<Task> tasks_;
  std::map<std::string_view, std::size_t> task_at_;
};

}  // namespace

Result<Value> tree_view(const NodesFold& fold, const State& state, const Compiled& compiled, const TreeRequest& request, Arena& arena) {
  return TreeWriter(fold, state, compiled, request, arena).run();
}

}  // namespace weir::ctree
