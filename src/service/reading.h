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

// A list of entries page by page, oldest first. A place pins the list as it was at its first page: what is appended later, or
// where the head goes, changes nothing in it.
struct PagePlace {
  SessionNo session;
  Seq after = 0;  // shown last
  Seq leaf = 0;   // of the path; 0: every branch
  struct Run {
    Seq first = 0, last = 0;
  };
  std::vector<Run> runs;  // what is left of the list, rising; empty: too many to carry, the path is walked again

  std::string encode() const;
  static std::optional<PagePlace> decode(std::string_view text);
};
struct PageQuery {
  Address address;
  bool all = false;                // every branch; else the path to the address
  std::vector<std::string> types;  // empty: all
  std::optional<TimeMs> since;
  std::size_t limit = 100;
  std::optional<PagePlace> from;  // nothing: the first page
};
// INVALID_FIELD, with the nearest name, for a type that neither Weir knows nor the session has: it would only ever find nothing.
Result<void> need_types(LogReader& reader, SessionNo session, const std::vector<std::string>& types);

// Calls `visit` with each entry of the page, until it says that the page is full (false); answers where the next page begins, if
// there is one. NOT_FOUND if the session of the place is gone.
Result<std::optional<PagePlace>> read_page(Service& service, const PageQuery& query,
                                           FunctionRef<Result<bool>(const Entry&, const EntryId&)> visit);

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
  SessionNo session;
  Entry entry;
  EntryId parent;
};
Result<Shown> show_entry(Service& service, const Address& address, std::string_view name);

// The body with its blobs put back, as canonical JSON.
Result<std::string> resolved_body(Service& service, SessionNo session, const Entry& entry);

Result<std::string> show_blob(Service& service, const Digest& digest);

// What an entry says, in one line, for people.
std::string preview_of(const Entry& entry, std::size_t most_code_points);

}  // namespace weir
