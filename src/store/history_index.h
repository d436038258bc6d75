// The words of one session in a full-text index (SQLite's FTS5) in a file of its own, history/<number>.db in the store's
// directory. It holds no text, only which word stands where, and where the path leaves its neighbour. It is a cache: it
// knows up to which entry it goes and that entry's digest, and is made again if the log does not agree. The file keeps a
// rollback journal, so a reader needs to write nothing beside it and a file taken away under a process cannot be mixed
// up with its successor.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/result.h"
#include "store/log.h"
#include "store/sqlite.h"

namespace weir {

class HistoryIndex {
 public:
  enum class Access { read, write };

  // Access::write makes a missing file. CORRUPT for one that is of another session or was made in another way, too.
  static Result<std::unique_ptr<HistoryIndex>> open(const std::string& path, const SessionRow& session, Access access, int busy_timeout_ms);

  struct Mark {  // the last entry that is in it
    Seq seq = 0;
    Digest digest;
  };
  Result<Mark> mark();

  class Batch {
   public:
    const Mark& mark() const { return mark_; }
    // The entry after the mark, which becomes the mark.
    Result<void> add(const Entry& entry, std::span<const std::string_view> strings);
    // Everything goes; the mark is before the first entry.
    Result<void> clear();

   private:
    friend class HistoryIndex;
    Batch(HistoryIndex& index, Mark mark) : index_(index), mark_(mark) {}
    HistoryIndex& index_;
    Mark mark_;
    std::string text_;
  };
  // All that `body` adds, or nothing. One process at a time is in here.
  Result<void> extend(FunctionRef<Result<void>(Batch&)> body);

  // Entries first..last that may match, newest first, until `visit` answers false. `types`, if any: only of these types.
  Result<void> candidates(const std::string& expression, const std::vector<std::string>& types, Seq first, Seq last,
                          FunctionRef<Result<bool>(Seq)> visit);
  // Entries up to `last` whose parent is not the entry before, newest first, until `visit` answers false.
  Result<void> jumps(Seq last, FunctionRef<bool(Seq seq, Seq parent)> visit);

  // The file cannot be used: an error that came from here and not from `body` or `visit`.
  bool failed() const { return failed_; }
  void distrust() { failed_ = true; }

 private:
  HistoryIndex() = default;
  Result<void> prepare(const SessionRow& session, Access access);
  Result<void> check(const SessionRow& session);
  // Notes that an error is this file's.
  template <typename T>
  Result<T> mine(Result<T> result);

  std::unique_ptr<sqlite::Connection> connection_;
  sqlite::Statement add_words_, add_jump_;
  bool failed_ = false;
};

}  // namespace weir
