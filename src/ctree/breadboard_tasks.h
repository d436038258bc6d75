// The tasks that the nodes of a session tell of, for the tree view of the profile breadboard-0.1 (contract ctree, 12.8).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ctree/breadboard_store.h"

namespace weir::breadboard {

struct Task {
  std::string id;  // trimmed
  Value meta;      // the first parent_task_id, tree_path and subagent_type that are not blank, trimmed
};

struct Tasks {
  std::vector<Task> all;  // in the order they are first seen
  std::map<std::string, std::size_t, std::less<>> by_id;
};

Tasks find_tasks(const Store& store);

}  // namespace weir::breadboard
