// Server-sent events as text, and which of a session's events a client wants.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/entry.h"

namespace weir::http {

// One event. Without an id the client keeps the one it has.
std::string sse_frame(std::string_view event, std::optional<Seq> id, std::string_view data);

struct Wanted {
  bool entry = true, head = true, node = false, snapshot = false;
  bool hash_only = false;  // of a node's payload
  auto operator<=>(const Wanted&) const = default;
};
// ?types=entry,head,ctree_node,ctree_snapshot,bye&payload=sanitised|hash. INVALID_FIELD; DENIED for payload=raw.
Result<Wanted> parse_wanted(std::optional<std::string_view> types, std::optional<std::string_view> payload);

// The entry after which a client goes on: Last-Event-ID, or 0 without one. INVALID_FIELD.
Result<Seq> parse_last_event_id(std::string_view header);

// What happened at one entry; the JSON of its events, empty where there is none.
struct Happened {
  Seq seq = 0;
  std::string entry, node, node_hash, snapshot;
};
// The events of those from `first` on that are wanted. The last one of each entry has its id, so that nothing is lost to who
// goes on from there.
std::string frames_of(const std::vector<Happened>& all, Seq first, const Wanted& wanted);

}  // namespace weir::http
