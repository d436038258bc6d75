// Use cases about sessions and heads: list, make, show, move, fork, delete.
#pragma once

#include <vector>

#include "service/service.h"
#include "session/append.h"

namespace weir {

struct SessionSummary {
  SessionId id;
  TimeMs created;
  std::uint64_t entries = 0;
  std::vector<std::pair<HeadName, EntryId>> heads;  // `main` first if it is there
  EntryId head;                                     // where main stands; empty before the first entry
  std::string barrier = "root";                     // of main: `root` or `compaction:<id>`
  std::string source;                               // canonical JSON; empty if it was not imported

  json::Value to_json(json::Arena& arena) const;
};

Result<std::vector<SessionSummary>> list_sessions(Service& service);
Result<SessionSummary> show_session(Service& service, const SessionId& id);

struct NewSession {
  SessionId id;
  bool made = false;  // false: it was there
};
// Without an id, a UUIDv7.
Result<NewSession> new_session(Service& service, const std::optional<SessionId>& id, bool dry_run);

struct HeadAnswer {
  HeadName name;
  EntryId entry;  // empty: before the first
  json::Value to_json(json::Arena& arena) const;
};
Result<std::vector<HeadAnswer>> list_heads(Service& service, const SessionId& session);
Result<HeadAnswer> move_head(Service& service, const HeadMove& move, bool people, bool dry_run);
Result<HeadAnswer> fork_head(Service& service, const Address& from, const HeadName& name, bool dry_run);
Result<void> delete_head(Service& service, const SessionId& session, const HeadName& name, bool dry_run);

}  // namespace weir
