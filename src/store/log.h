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

// What is kept of a session that was purged.
struct PurgedSession {
  SessionNo no;
  Digest name;  // a hash of its id
  Seq entries = 0;
  Digest last;  // of its last entry; zeros if it had none
  TimeMs at;
  bool operator==(const PurgedSession&) const = default;
};

// A fold's state saved beside the log: a cache, dropped without harm.
struct CheckpointRow {
  Seq seq = 0;
  std::string state;
};

// A read of a file whose answer is not known to have arrived, as often as it was answered. `path`: the file's name, hashed.
struct UndeliveredRow {
  SessionNo session;
  std::uint64_t path = 0;
  Seq seq = 0;
  std::uint64_t times = 0;
};

enum class Order { forward, backward };
enum class Columns { all, without_body };

// One moment of the log. Damaged rows are CORRUPT with their place, never data: a row has its seal, and a body that is read
// is the one its digest speaks of.
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

  // Calls `visit` for the entries first..last that exist, until it answers false. CORRUPT where one between them is missing.
  virtual Result<void> scan(SessionNo session, Seq first, Seq last, Order order, Columns columns,
                            FunctionRef<Result<bool>(Entry&)> visit) = 0;
  // The same for verify alone, which names damage and goes on behind it: rows have their seals, but entries may be missing,
  // and a body need not be the one its digest speaks of.
  virtual Result<void> scan_unproven(SessionNo session, Seq first, Seq last, Order order, Columns columns,
                                     FunctionRef<Result<bool>(Entry&)> visit) {
    return scan(session, first, last, order, columns, visit);
  }

  // The state the fold saved at `seq`, and where it saved any.
  virtual Result<std::optional<CheckpointRow>> checkpoint(SessionNo session, std::string_view fold, Seq seq) = 0;
  virtual Result<std::vector<Seq>> checkpoints(SessionNo session, std::string_view fold) = 0;  // rising

  // All there are: a row whose key is damaged is found under no key, and the read it speaks of would count. A damaged row ends
  // the call, or goes to `damaged` if that is given.
  virtual Result<std::vector<UndeliveredRow>> all_undelivered(std::vector<Error>* damaged = nullptr) = 0;
  // Of them, those of one file, rising, each as often as it was answered; and how many reads of a session.
  Result<std::vector<Seq>> undelivered(SessionNo session, std::uint64_t path);
  Result<std::uint64_t> count_undelivered(SessionNo session);

  virtual Result<MaskCounts> masked(SessionNo session) = 0;
  virtual Result<std::vector<Digest>> purged_blobs() = 0;            // in order
  virtual Result<std::vector<PurgedSession>> purged_sessions() = 0;  // by number
};

class LogTxn : public LogReader {
 public:
  virtual Result<SessionRow> create_session(const SessionId& id, TimeMs created) = 0;
  virtual Result<void> set_source(SessionNo session, const std::string& source) = 0;
  // Removes every row of the session, and leaves none.
  virtual Result<void> delete_session(SessionNo session) = 0;

  // entry.seq must be last_seq + 1.
  virtual Result<void> insert(SessionNo session, const Entry& entry) = 0;

  virtual Result<void> set_head(SessionNo session, const HeadName& name, Seq seq) = 0;
  virtual Result<void> delete_head(SessionNo session, const HeadName& name) = 0;

  virtual Result<void> save_checkpoint(SessionNo session, std::string_view fold, const CheckpointRow& row) = 0;
  virtual Result<void> drop_checkpoint(SessionNo session, std::string_view fold, Seq seq) = 0;
  virtual Result<void> drop_checkpoints(SessionNo session, std::string_view fold) = 0;
  // One more answer of this read is on its way, and one that has arrived. An answer may be sent again, so they are counted; what is
  // not there cannot arrive.
  virtual Result<void> add_undelivered(SessionNo session, std::uint64_t path, Seq seq) = 0;
  virtual Result<void> drop_undelivered(SessionNo session, std::uint64_t path, Seq seq) = 0;
  virtual Result<void> add_masked(SessionNo session, const MaskCounts& counts) = 0;
  virtual Result<void> mark_purged(const Digest& blob) = 0;
  virtual Result<void> unmark_purged(const Digest& blob) = 0;  // it is stored again
  virtual Result<void> mark_purged(const PurgedSession& session) = 0;

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

// Thrown by a state that is read in parts when one can neither be read nor be made again, because the log is damaged too: there
// is no Result where a value of a list is asked for. A log catches it around what it runs, and answers with the error.
struct PartLost {
  Error error;
};

class Log {
 public:
  virtual ~Log() = default;

  virtual Result<void> read(FunctionRef<Result<void>(LogReader&)> body) = 0;

  enum class Grouping {
    shared,  // may share one commit with other callers'; `body` may be run again, so it must start afresh each time
    alone,   // has a commit of its own and runs once
    hint,    // as alone, but a power cut may take it back: for what does no harm when it is forgotten
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
