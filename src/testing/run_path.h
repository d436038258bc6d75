// A path for the tests of snapshots: entries by their bodies, folded one by one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compaction/run_fold.h"
#include "compaction/snapshot.h"

namespace weir::testing {

class RunPath {
 public:
  // Appends an entry with that body (JSON); its id is derived unless one is given.
  RunPath& add(std::string_view type, std::string_view body, std::string id = "");
  RunPath& message(std::string_view body) { return add("message", body); }

  // The hashed form of a snapshot at the last entry, without pins by hand.
  json::Value build(json::Arena& arena, compaction::Trigger trigger, const json::Value* previous = nullptr) const;

  compaction::RunState state;
  std::vector<Entry> entries;
};

// The contract's full example: 23 entries, due for its first snapshot.
RunPath gauge_example();

}  // namespace weir::testing
