// The vocabulary of session tests: entries written short, one session of one log called in one line.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "session/append.h"
#include "store/log.h"

namespace weir::testing {

// An entry with a canonical body; where it goes and what it is called is added by the functions below.
NewEntry entry(std::string_view type, std::string_view body);
NewEntry message(std::string_view text);                  // {"content":text,"role":"user"}
NewEntry named(std::string_view id, NewEntry entry);      // with the caller's own id
NewEntry under(std::string_view parent, NewEntry entry);  // parent: id or pointer
NewEntry root(NewEntry entry);

// One session of a log.
class SessionCalls {
 public:
  explicit SessionCalls(Log& log, std::string_view session = "s") : log_(log), id_(SessionId::trusted(session)) {}

  TimeMs now{1000};  // the clock's answer for entries without a time of their own

  struct How {
    std::string head = "main";
    std::optional<std::string> expect;  // empty: before the first entry
    bool move_head = true;
  };
  Result<AppendResult> append(std::vector<NewEntry> entries) { return append(std::move(entries), How()); }
  Result<AppendResult> append(std::vector<NewEntry> entries, const How& how);
  // Appends, one after another, each with its id: "a" under the head, "b<a" under a, "b<" a root, "b!" a compaction.
  void grow(const std::vector<std::string>& entries);

  Result<EntryId> move(std::string_view head, std::string_view entry, bool before = false,
                       std::optional<std::string> expect = std::nullopt);
  Result<EntryId> fork(std::string_view head, Seq at);
  Result<void> delete_head(std::string_view head);

  bool there();                                      // is there such a session?
  SessionRow row();                                  // it must be there
  Seq last();                                        // how many entries
  std::string head(std::string_view name = "main");  // id, "null" before the first entry, "(none)"
  Entry at(Seq seq);

 private:
  Log& log_;
  SessionId id_;
};

}  // namespace weir::testing
