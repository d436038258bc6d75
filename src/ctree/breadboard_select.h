// Which nodes make up the context in the profile breadboard-0.1 (contract ctree, 12.6). O(n log n) in the nodes.
#pragma once

#include <vector>

#include "ctree/breadboard_config.h"
#include "ctree/breadboard_store.h"

namespace weir::breadboard {

struct Selection {
  Ordinals candidates;    // ids by their first node, in append order
  Ordinals selected;      // nodes, in the order of their ids' first nodes; of equal ids the last selected one
  Ordinals selected_ids;  // the same as ids by their first node
  Ordinals pinned;        // ids by their first node, in append order
};

Selection select(const Store& store, const Config& config);

// The ids of the last message of a user and the last of an assistant, in this order, each once.
Ordinals latest_messages(const Store& store);

// What a message says: `content`, or `text` where that is null or absent; null if there is neither.
Value message_content(const Value& payload);

// One mark per node of a store.
std::vector<bool> marks(const Store& store, const Ordinals& ordinals);

}  // namespace weir::breadboard
