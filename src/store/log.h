// The log behind one interface: sessions, heads and entries as rows, read in snapshots and written in transactions.
// What may be appended, and where, is decided above (session/append.h); a log only keeps rows. Every implementation
// passes testing/log_conformance.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/secrets.h"
#include "base/time.h"
#include "store/entry.h"

namespace weir {

// A session's number in its log. Never given again, not even after a purge.
struct SessionNo {
  std::uint64_t value = 0;
  auto operator<=>(const SessionNo&) const = default;
};

struct SessionRow {
  SessionNo no;
  SessionId id;
  TimeMs created;
  std::string source;  // canonical JSON about where it was imported from; empty if nowhere
};

struct HeadRow {
  HeadName name;
  Seq seq = 0;  // 0: before the first entry
};

// A fold's state saved beside the log: a cache, dropped without harm.
struct CheckpointRow {
  Seq seq = 0;
  std::string state;
};

enum class Order { forward, backward };
enum class Columns { all, without_body };

// One moment of the log. Damaged rows are CORRUPT with their place, never data.
class LogReader {
 public:
  virtual ~LogReader() = default;

  // By id. A damaged row ends the call, or goes to `damaged` if that is given.
  virtual Result<std::vector<SessionRow>> sessions(std::vector<Error>* damaged = nullptr) = 0;
  virtual Result<std::optional<SessionRow>> session(const SessionId& id) = 0;
  virtual Result<Seq> last_seq(SessionNo session) = 0;

  virtual Result<std::vector<HeadRow>> heads(SessionNo session) = 0;  // by name
  virtual Result<std::optional<Seq>> head(SessionNo session, const HeadName& name) = 0;

  virtual Result<std::optional<Entry>> entry(SessionNo session, Seq seq, Columns columns = Columns::all) = 0;
  virtual Result<std::optional<Entry>> find(SessionNo session, const EntryId& id, Columns columns = Columns::all) = 0;
  // Entries whose digest begins with these 64 bits (the entry pointer), rising.
  virtual Result<std::vector<Seq>> with_digest(SessionNo session, std::uint64_t prefix64) = 0;
  // At most `most` entries whose id begins like this, in id order.
  virtual Result<std::vector<Seq>> with_id_prefix(SessionNo session, std::string_view prefix, std::size_t most) = 0;

  // Calls `visit` for the entries first..last that exist, until it answers false.
  virtual Result<void> scan(SessionNo session, Seq first, Seq last, Order order, Columns columns,
                            FunctionRef<Result<bool>(Entry&)> visit) = 0;

  // The state the fold saved at `seq`, and where it saved any.
  virtual Result<std::optional<CheckpointRow>> checkpoint(SessionNo session, std::string_view fold, Seq seq) = 0;
  virtual Result<std::vector<Seq>> checkpoints(SessionNo session, std::string_view fold) = 0;  // rising

  virtual Result<MaskCounts> masked(SessionNo session) = 0;
  virtual Result<std::vector<Digest>> purged_blobs() = 0;  // in order
};

class LogTxn : public LogReader {
 public:
  virtual Result<SessionRow> create_session(const SessionId& id, TimeMs created) = 0;
  virtual Result<void> set_source(SessionNo session, const std::string& source) = 0;
  // Removes every row of the session.
  virtual Result<void> delete_session(SessionNo session) = 0;

  // entry.seq must be last_seq + 1.
  virtual Result<void> insert(SessionNo session, const Entry& entry) = 0;

  virtual Result<void> set_head(SessionNo session, const HeadName& name, Seq seq) = 0;
  virtual Result<void> delete_head(SessionNo session, const HeadName& name) = 0;

  virtual Result<void> save_checkpoint(SessionNo session, std::string_view fold, const CheckpointRow& row) = 0;
  virtual Result<void> drop_checkpoints(SessionNo session, std::string_view fold) = 0;
  virtual Result<void> add_masked(SessionNo session, const MaskCounts& counts) = 0;
  virtual Result<void> mark_purged(const Digest& blob) = 0;
  virtual Result<void> unmark_purged(const Digest& blob) = 0;  // it is stored again

  // Of the log, with what this transaction has written; 0 where nothing is on a disk.
  virtual Result<std::uint64_t> bytes() = 0;

  // From now on no power cut takes back what was committed before this transaction, whatever the durability of whoever
  // committed it. Asked for before something outside the log goes because the log no longer needs it.
  virtual Result<void> sync_committed() = 0;
};

// A damaged place, as verify names it.
struct Finding {
  std::string session, entry, object;  // empty where it does not apply
  std::string what;
};

class Log {
 public:
  virtual ~Log() = default;

  virtual Result<void> read(FunctionRef<Result<void>(LogReader&)> body) = 0;

  enum class Grouping {
    shared,  // may share one commit with other callers'; `body` may be run again, so it must start afresh each time
    alone,   // has a commit of its own and runs once
  };
  // All that `body` writes, or, if it or the commit fails, nothing. Success means durable. Callers in other threads
  // wait their turn and share commits.
  virtual Result<void> write(FunctionRef<Result<void>(LogTxn&)> body, Grouping grouping = Grouping::shared) = 0;

  // The same checks, but what `body` wrote is taken back and its result returned.
  virtual Result<void> try_write(FunctionRef<Result<void>(LogTxn&)> body) = 0;

  // A number that is another one whenever somebody, in this process or elsewhere, has committed since it was asked last.
  virtual Result<std::uint64_t> version() = 0;

  // Damage below the rows: pages, indexes. `quick` leaves out what costs a pass over every index.
  virtual Result<std::vector<Finding>> check_structure(bool quick) = 0;
};

}  // namespace weir
