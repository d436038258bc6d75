#include "session/path.h"

#include <algorithm>

namespace weir {
namespace {

// Rows of other branches that are read over rather than starting another scan.
constexpr Seq kSkip = 32;

}  // namespace

Error missing_entry(LogReader& reader, SessionNo session, Seq seq) {
  Error error =
      Error(ErrorCode::CORRUPT, "the entry at seq " + std::to_string(seq) + " is missing").with("seq", static_cast<std::int64_t>(seq));
  const auto rows = reader.sessions();
  if (!rows.ok()) return error;
  const auto row = std::find_if(rows->begin(), rows->end(), [&](const SessionRow& each) { return each.no == session; });
  if (row == rows->end()) return Error(ErrorCode::NOT_FOUND, "the session is gone: it was purged meanwhile");
  return std::move(error).with("session", row->id.str());
}

static Error late_parent(LogReader& reader, SessionNo session, const Entry& entry) {
  Error error(ErrorCode::CORRUPT, "the parent of '" + entry.id.str() + "' is no earlier entry");
  for (const auto& [name, value] : missing_entry(reader, session, entry.seq).details()) error = std::move(error).with(name, value);
  return std::move(error).with("entry", entry.id.str());
}

Result<void> walk_back(LogReader& reader, SessionNo session, Seq from, Columns columns, FunctionRef<Result<bool>(Entry&)> visit) {
  Seq wanted = from;
  bool stopped = false;
  while (wanted != 0 && !stopped) {
    const Seq start = wanted;
    TRY_DO(reader.scan(session, 1, wanted, Order::backward, columns, [&](Entry& entry) -> Result<bool> {
      if (entry.seq > wanted) return entry.seq - wanted <= kSkip;
      if (entry.seq < wanted) return missing_entry(reader, session, wanted);
      if (entry.parent >= entry.seq) return late_parent(reader, session, entry);
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
