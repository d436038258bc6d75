// Use cases that show the log: the path, the tree, one entry, one blob.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "json/value.h"
#include "service/service.h"

namespace weir {

struct LogQuery {
  Address address;
  std::vector<std::string> types;  // empty: all
  std::optional<TimeMs> since;
  std::uint64_t limit = 0;  // 0: all
  bool oldest_first = false;
  Seq after = 0;  // only entries with a greater seq: what --follow asks for
};
// Calls `visit` with each entry of the path and its parent's id, until it answers false.
Result<Located> read_log(Service& service, const LogQuery& query, FunctionRef<Result<bool>(const Entry&, const EntryId&)> visit);

// Every entry of the session in append order.
Result<void> read_all(Service& service, const SessionId& session, FunctionRef<Result<bool>(const Entry&, const EntryId&)> visit);

struct TreeNode {
  Seq seq = 0, parent = 0;
  EntryId id;
  std::string type;
  std::string label;    // set on it by the latest label, if any
  std::string preview;  // the beginning of what it says
  bool barrier = false;
  bool error = false;  // a tool result that failed
  bool side = false;   // imported from outside the host's tree
};
struct Tree {
  SessionRow session;
  std::vector<TreeNode> nodes;  // by seq
  std::vector<std::pair<HeadName, Seq>> heads;
};
Result<Tree> read_tree(Service& service, const SessionId& session);
json::Value node_json(const TreeNode& node, const EntryId& parent, json::Arena& arena);

struct Shown {
  Entry entry;
  EntryId parent;
};
Result<Shown> show_entry(Service& service, const Address& address, std::string_view name);

// The body with its blobs put back, as canonical JSON.
Result<std::string> resolved_body(Service& service, const Entry& entry);

Result<std::string> show_blob(Service& service, const Digest& digest);

// What an entry says, in one line, for people.
std::string preview_of(const Entry& entry, std::size_t most_code_points);

}  // namespace weir
