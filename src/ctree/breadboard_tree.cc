#include "ctree/breadboard_tree.h"

#include <map>

#include "base/secrets.h"
#include "ctree/breadboard_context.h"
#include "ctree/breadboard_python.h"
#include "ctree/breadboard_tasks.h"
#include "ctree/breadboard_text.h"
#include "ctree/kind.h"

namespace weir::breadboard {
namespace {

constexpr const char* kRootId = "ctrees:root";

struct IntLess {
  bool operator()(const Value& a, const Value& b) const { return compare_ints(a, b) < 0; }
};

Value view_node(Value id, Value parent, Value kind, Value turn, Value label, Value meta) {
  return Value::object({{"id", std::move(id)},
                        {"parent_id", std::move(parent)},
                        {"kind", std::move(kind)},
                        {"turn", std::move(turn)},
                        {"label", std::move(label)},
                        {"meta", std::move(meta)}});
}

// What of the payload names a node of this kind, and the word before it.
struct LabelRule {
  std::string_view kind, word, key;
};
constexpr LabelRule kLabels[] = {{ctree::kMessage, "message", "role"},
                                 {"lifecycle", "lifecycle", "type"},
                                 {"guardrail", "guardrail", "type"},
                                 {ctree::kTaskEvent, "task", "kind"},
                                 {ctree::kSubagent, "subagent", "subagent_type"}};

Result<std::string> label_of(const Node& node) {
  for (const LabelRule& rule : kLabels) {
    const Value value = node.kind == rule.kind ? node.payload.get(rule.key) : Value();
    if (value.is_null()) continue;
    TRY(const std::string text, to_str(value, "the " + std::string(rule.key) + " of a " + std::string(rule.kind) + " node"));
    if (!is_blank(text)) return std::string(rule.word) + ":" + std::string(strip(text));
  }
  return node.kind.empty() ? std::string("node") : node.kind;
}

// true and 1 are one turn, written as it came first.
std::string turn_text(const Value& turn) { return turn.kind() == Kind::boolean ? (turn.boolean() ? "True" : "False") : turn.text(); }

Value turn_or_null(const Node& node) { return is_int(node.turn) ? node.turn : Value(); }

class View {
 public:
  View(const Store& store, const Context& context)
      : store_(store),
        context_(context),
        tasks_(find_tasks(store)),
        selected_(marks(store, context.candidates)),
        kept_(marks(store, context.kept)),
        dropped_(marks(store, context.dropped)),
        collapsed_(marks(store, context.collapsed)) {
    const Value messages = context.compiled.header.get("messages");
    for (const Value& item : messages.items()) header_items_.emplace(*store.find(item.get("node_id").text()), item);
  }

  Result<Value> build() {
    add_root();
    add_turns();
    add_tasks();
    for (const Node& node : store_.nodes()) {
      if (shows(node)) TRY_DO(add_leaf(node));
    }
    if (hides_collapsed()) add_collapsed();
    std::vector<Value> ids;
    ids.reserve(nodes_.size());
    for (const Value& node : nodes_) ids.push_back(node.get("id"));
    const Value hashes = with_member(context_.compiled.hashes, "tree_sha256", sha256_of_canonical(Value::array(std::move(ids))));
    return Value::object({{"root_id", kRootId},
                          {"nodes", Value::array(std::move(nodes_))},
                          {"stage", context_.stage},
                          {"selection", context_.selection},
                          {"hashes", hashes}});
  }

 private:
  void add_root() {
    Value meta = with_member(context_.compiled.hashes, "stage", context_.stage);
    meta = with_member(meta, "selection_sha256", context_.selection.get("selection_sha256"));
    nodes_.push_back(view_node(kRootId, {}, "root", {}, "C-Trees", meta));
  }

  void add_turns() {
    for (const Node& node : store_.nodes()) {
      if (is_int(node.turn)) turns_.emplace(node.turn, "ctrees:turn:" + turn_text(node.turn));
    }
    for (const auto& [turn, id] : turns_)
      nodes_.push_back(view_node(id, kRootId, "turn", turn, "Turn " + turn_text(turn), Value::object({})));
  }

  void add_tasks() {
    if (tasks_.all.empty()) return;
    nodes_.push_back(view_node("ctrees:tasks", kRootId, "task_root", {}, "Tasks", Value::object({})));
    for (const Task& task : tasks_.all) {
      const Value parent = task.meta.get("parent_task_id");
      const bool known = parent.is_string() && parent.text() != task.id && tasks_.by_id.contains(parent.text());
      nodes_.push_back(
          view_node(task_node(task.id), known ? task_node(parent.text()) : "ctrees:tasks", "task", {}, "Task " + task.id, task.meta));
    }
  }

  static std::string task_node(const std::string& id) { return "ctrees:task:" + id; }

  bool hides_collapsed() const { return context_.stage == "HEADER" || context_.stage == "FROZEN"; }

  bool shows(const Node& node) const {
    if (context_.stage == "RAW" || node.kind != ctree::kMessage) return true;
    return !dropped_[node.first] && !(hides_collapsed() && collapsed_[node.first]);
  }

  Value turn_parent(const Value& turn) const {
    const auto found = turn.is_null() ? turns_.end() : turns_.find(turn);
    return found == turns_.end() ? Value(kRootId) : Value(found->second);
  }

  Value parent_of(const Node& node) const {
    if (node.kind == ctree::kTaskEvent || node.kind == ctree::kSubagent) {
      const Value task = node.payload.get("task_id");  // not trimmed, so a padded one is not found: a fault that is kept
      if (task.is_string() && tasks_.by_id.contains(task.text())) return task_node(task.text());
    }
    return turn_parent(turn_or_null(node));
  }

  Value meta_of(const Node& node) const {
    std::vector<Member> meta{{"digest", node.digest},
                             {"selected", bool{selected_[node.first]}},
                             {"kept", bool{kept_[node.first]}},
                             {"dropped", bool{dropped_[node.first]}},
                             {"collapsed", bool{collapsed_[node.first]}}};
    const auto item = node.kind == ctree::kMessage ? header_items_.find(node.first) : header_items_.end();
    if (item == header_items_.end()) {
      meta.push_back({"payload_sha1", sha1_of_canonical(node.payload)});
      return Value::object(std::move(meta));
    }
    for (const char* key : {"role", "name", "payload_hash", "content_hash", "content_len", "tool_call_count"}) {
      meta.push_back({key, item->second.get(key)});
    }
    for (const char* key : {"content_preview", "content_preview_truncated", "content_preview_redacted"}) {
      if (const Value* found = item->second.find(key)) meta.push_back({key, *found});
    }
    return Value::object(std::move(meta));
  }

  Result<void> add_leaf(const Node& node) {
    auto label = label_of(node);
    if (!label.ok()) return std::move(label).error().with("node_id", masked_excerpt(node.id, 80));
    nodes_.push_back(view_node("ctrees:node:" + node.id, parent_of(node), node.kind.empty() ? "node" : node.kind, turn_or_null(node),
                               std::move(*label), meta_of(node)));
    return {};
  }

  void add_collapsed() {
    std::map<Value, Ordinals, IntLess> by_turn;
    Ordinals without_turn;
    for (const std::size_t id : context_.collapsed) {
      const Value turn = turn_or_null(store_.last_of(id));
      (turn.is_null() ? without_turn : by_turn[turn]).push_back(id);
    }
    for (const auto& [turn, ids] : by_turn) add_collapsed(turn, turn_text(turn), ids);
    if (!without_turn.empty()) add_collapsed({}, "unknown", without_turn);
  }

  void add_collapsed(const Value& turn, const std::string& name, const Ordinals& ordinals) {
    const Value ids = store_.ids(ordinals);
    const Value meta = Value::object({{"collapsed_ids", ids}, {"collapsed_sha256", sha256_of_canonical(ids)}});
    nodes_.push_back(view_node("ctrees:collapsed:" + name, turn_parent(turn), "collapsed", turn,
                               "collapsed " + std::to_string(ordinals.size()) + " messages", meta));
  }

  const Store& store_;
  const Context& context_;
  const Tasks tasks_;
  const std::vector<bool> selected_, kept_, dropped_, collapsed_;
  std::map<std::size_t, Value> header_items_;  // by the first node of the id
  std::map<Value, std::string, IntLess> turns_;
  std::vector<Value> nodes_;
};

}  // namespace

Result<Value> tree_view(const Store& store, const TreeArgs& args) {
  TRY(const Value config, object_or_empty(args.compiler_config, "the compiler's config"));
  const auto block = [&](const char* name) {
    const Value value = config.get(name);
    return value.is_object() ? value : Value::object({});
  };
  ContextArgs context_args;
  context_args.selection_config = block("selection");
  context_args.header_config = with_member(block("header"), "mode", args.include_previews ? "sanitized_content" : "hash_only");
  context_args.collapse_target = args.collapse_target;
  context_args.collapse_mode = args.collapse_mode;
  context_args.stage = stage_of(args.stage, "FROZEN");
  TRY(const Context context, select_context(store, context_args));
  return View(store, context).build();
}

}  // namespace weir::breadboard
