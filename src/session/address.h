// Which entry is meant: by id, by entry pointer, and for people by head, prefix and ancestor.
#pragma once

#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "store/log.h"

namespace weir {

enum class Naming {
  exact,   // an id or an entry pointer
  people,  // also a head's name, a unique prefix of at least 4 characters, and ID~3 for the third ancestor
};

// An exact id wins, then the pointer, then the rest. NOT_FOUND, AMBIGUOUS.
Result<Entry> find_entry(LogReader& reader, const SessionRow& session, std::string_view name, Naming naming,
                         Columns columns = Columns::without_body);

// The same where the place before the first entry may be meant too: no name, and for people the word `root` unless an
// entry has that id. Answers an entry with seq 0 for it.
Result<Entry> find_place(LogReader& reader, const SessionRow& session, std::string_view name, Naming naming);

// The session's row; NOT_FOUND.
Result<SessionRow> need_session(LogReader& reader, const SessionId& id);

// Where a head stands (0: before the first entry). `main` is there from the start; others are NOT_FOUND until made.
Result<Seq> need_head(LogReader& reader, const SessionRow& session, const HeadName& name);

// All heads that were made, by name. CORRUPT if there are entries and `main` is not among them.
Result<std::vector<HeadRow>> need_heads(LogReader& reader, const SessionRow& session);

// The id of the entry at `seq`; empty for 0.
Result<EntryId> id_at(LogReader& reader, SessionNo session, Seq seq);

const HeadName& main_head();

}  // namespace weir
