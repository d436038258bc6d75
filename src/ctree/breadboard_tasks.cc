#include "ctree/breadboard_tasks.h"

#include "ctree/breadboard_python.h"
#include "ctree/kind.h"

namespace weir::breadboard {
namespace {

// A member's text without white space around it; empty for what is no text or blank.
std::string trimmed(const Value& payload, std::string_view key) {
  const Value value = payload.get(key);
  return value.is_string() ? std::string(strip(value.text())) : std::string();
}

}  // namespace

Tasks find_tasks(const Store& store) {
  Tasks out;
  for (const Node& node : store.nodes()) {
    if (node.kind != ctree::kTaskEvent && node.kind != ctree::kSubagent) continue;
    const std::string id = trimmed(node.payload, "task_id");
    if (id.empty()) continue;
    const auto [at, added] = out.by_id.emplace(id, out.all.size());
    if (added) out.all.push_back({id, Value::object({})});
    Task& task = out.all[at->second];
    for (const char* key : {"parent_task_id", "tree_path", "subagent_type"}) {
      std::string text = trimmed(node.payload, key);
      if (!text.empty() && task.meta.find(key) == nullptr) task.meta = with_member(task.meta, key, std::move(text));
    }
  }
  return out;
}

}  // namespace weir::breadboard
