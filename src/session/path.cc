#include "session/path.h"

#include <algorithm>

namespace weir {
namespace {

// Rows of other branches that are read over rather than starting another scan.
constexpr Seq kSkip = 32;

}  // namespace

Error missing_entry(LogReader& reader, SessionNo session, Seq seq) {
  const auto rows = reader.sessions();
  const auto is_it = [&](const SessionRow& row) { return row.no == session; };
  if (rows.ok() && std::none_of(rows->begin(), rows->end(), is_it))
    return Error(ErrorCode::NOT_FOUND, "the session is gone: it was purged meanwhile");
  return Error(ErrorCode::CORRUPT, "the entry at seq " + std::to_string(seq) + " is missing").with("seq", static_cast<std::int64_t>(seq));
}

Result<void> walk_back(LogReader& reader, SessionNo session, Seq from, Columns columns, FunctionRef<Result<bool>(Entry&)> visit) {
  Seq wanted = from;
  bool stopped = false;
  while (wanted != 0 && !stopped) {
    const Seq start = wanted;
    TRY_DO(reader.scan(session, 1, wanted, Order::backward, columns, [&](Entry& entry) -> Result<bool> {
      if (entry.seq > wanted) return entry.seq - wanted <= kSkip;
      if (entry.seq < wanted) return missing_entry(reader, session, wanted);
      if (entry.parent >= entry.seq)
        return Error(ErrorCode::CORRUPT, "the parent of '" + entry.id.str() + "' is no earlier entry").with("entry", entry.id.str());
      wanted = entry.parent;
      TRY(const bool go_on, visit(entry));
      stopped = !go_on;
      return go_on && wanted != 0;
    }));
    if (wanted == start && !stopped) return missing_entry(reader, session, wanted);
  }
  return {};
}

Result<void> walk(LogReader& reader, SessionNo session, const std::vector<Seq>& seqs, Columns columns,
                  FunctionRef<Result<bool>(Entry&)> visit) {
  std::size_t i = 0;
  bool stopped = false;
  while (i < seqs.size() && !stopped) {
    const std::size_t start = i;
    TRY_DO(reader.scan(session, seqs[i], seqs.back(), Order::forward, columns, [&](Entry& entry) -> Result<bool> {
      if (entry.seq < seqs[i]) return seqs[i] - entry.seq <= kSkip;
      if (entry.seq > seqs[i]) return missing_entry(reader, session, seqs[i]);
      TRY(const bool go_on, visit(entry));
      stopped = !go_on;
      return go_on && ++i < seqs.size();
    }));
    if (i == start && !stopped) return missing_entry(reader, session, seqs[i]);
  }
  return {};
}

Result<std::vector<Seq>> path_to(LogReader& reader, SessionNo session, Seq leaf) {
  std::vector<Seq> seqs;
  TRY_DO(walk_back(reader, session, leaf, Columns::without_body, [&](Entry& entry) -> Result<bool> {
    seqs.push_back(entry.seq);
    return true;
  }));
  std::reverse(seqs.begin(), seqs.end());
  return seqs;
}

Result<Seq> barrier_at(LogReader& reader, SessionNo session, Seq seq) {
  if (seq == 0) return Seq{0};
  TRY(const auto entry, reader.entry(session, seq, Columns::without_body));
  if (!entry) return missing_entry(reader, session, seq);
  return entry->barrier;
}

}  // namespace weir
