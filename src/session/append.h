// The rules of append and of moving heads, once, over any log. All of them run inside a write transaction.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "session/prepare.h"
#include "store/log.h"

namespace weir {

struct NewEntry {
  std::string type;
  PreparedBody body;
  std::optional<EntryId> id;  // without one: `e` + 8 hex digits of the digest, or more
  // Under which entry; without one under the entry before it in the call, the first under the head.
  struct Parent {
    bool root = false;
    std::string name;     // id or entry pointer
    bool people = false;  // or a prefix, ID~3, a head, `root`
  };
  std::optional<Parent> parent;
  std::optional<TimeMs> at;
  bool imported = false;
  bool id_is_free = false;  // the caller has looked
};

struct Expect {
  std::string entry;    // where the caller saw the head, by id or entry pointer; empty: before the first entry
  bool people = false;  // or a prefix, ID~3, a head, the word root
};

struct AppendRequest {
  SessionId session;
  HeadName head;
  std::optional<Expect> expect;
  std::vector<NewEntry> entries;
  bool move_head = true;
};

struct AppendResult {
  struct Item {
    Seq seq = 0;
    EntryId id;
    Digest digest;
    bool known = false;  // it was there already
  };
  std::vector<Item> entries;
  EntryId head;  // where the head stands now; empty before the first entry
  bool session_made = false;
};

// What the owners of entry types have to say to an append, inside its transaction. May be asked again from the start.
struct AppendHooks {
  // Which types they own.
  FunctionRef<bool(std::string_view type)> owned;
  // Before an owned entry goes under `parent`: an error refuses it, a body takes the place of its own. `known`: an entry of
  // that id is there already under `parent`, and this one is only compared with it.
  FunctionRef<Result<std::optional<PreparedBody>>(const SessionRow&, const NewEntry&, Seq parent, bool known)> complete;
  // After a new entry of any type is stored.
  FunctionRef<Result<void>(const SessionRow&, const Entry&)> added;
};

// A session's tail inside one transaction: entries go in one after another without asking the log for what is known.
class Appender {
 public:
  Appender(LogTxn& txn, SessionRow session, TimeMs now) : txn_(txn), session_(std::move(session)), now_(now) {}

  // Stores the entry under `parent` (0: a root), or finds that it is there. NOT_FOUND, ID_REUSED.
  // `parent_given`: was the parent the caller's own? If not, an entry known by its id keeps the one it has.
  Result<AppendResult::Item> add(const NewEntry& entry, Seq parent, bool parent_given, const AppendHooks* hooks = nullptr);

  // Is `there` what this type and body would be under `parent`?
  Result<bool> same(const Entry& there, std::string_view type, const BodyHash& hash, Seq parent);

  const SessionRow& session() const { return session_; }

 private:
  struct Link {  // what a child needs to know of its parent
    Seq seq = 0, barrier = 0;
    std::uint64_t depth = 0;
    std::optional<Digest> digest;
  };
  Result<Link> link(Seq seq);
  Result<std::optional<NewEntry>> completed(const NewEntry& entry, Seq parent, bool parent_given, const AppendHooks& hooks);
  Result<std::optional<AppendResult::Item>> known(const NewEntry& entry, Seq parent, bool parent_given);

  LogTxn& txn_;
  SessionRow session_;
  TimeMs now_;
  std::optional<Seq> last_seq_;
  Link last_;  // the entry added last: most often the next one's parent
};

Result<AppendResult> append(LogTxn& txn, const AppendRequest& request, TimeMs now, const AppendHooks* hooks = nullptr);

// The session, made if it is missing.
Result<SessionRow> ensure_session(LogTxn& txn, const SessionId& id, TimeMs now, bool* made = nullptr);

// CONFLICT unless the head stands where `expect` says.
Result<void> check_expect(LogReader& reader, const SessionRow& session, const HeadName& head, const Expect& expect);

struct HeadMove {
  SessionId session;
  HeadName head;
  std::string entry;    // empty, for people also `root`: before the first entry
  bool before = false;  // to the parent of `entry`
  std::optional<Expect> expect;
};
// Answers where the head stands afterwards. NOT_FOUND, CONFLICT.
Result<EntryId> move_head(LogTxn& txn, const HeadMove& move, bool people);

// A new head at an entry. CONFLICT if the name is taken.
Result<EntryId> fork_head(LogTxn& txn, const SessionId& session, const HeadName& name, Seq at);
Result<void> delete_head(LogTxn& txn, const SessionId& session, const HeadName& name);

}  // namespace weir
