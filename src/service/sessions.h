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
// The same page by page, by id: those behind `after`, and none that was made after the first page, when `newest` was.
struct SessionsPage {
  std::vector<SessionSummary> sessions;
  std::uint64_t newest = 0;  // the largest number of a session there was
  bool more = false;
};
Result<SessionsPage> list_sessions(Service& service, const std::string& after, std::optional<std::uint64_t> newest, std::size_t limit);
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
// The same by exact ids, and a head that is not there is made, unless it was expected to stand somewhere.
Result<HeadAnswer> put_head(Service& service, const HeadMove& move);
Result<HeadAnswer> fork_head(Service& service, const Address& from, const HeadName& name, bool dry_run);
Result<void> delete_head(Service& service, const SessionId& session, const HeadName& name, bool dry_run,
                         const std::optional<Expect>& expect = std::nullopt);

}  // namespace weir
