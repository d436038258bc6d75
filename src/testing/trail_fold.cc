#include "testing/trail_fold.h"

#include <cstdio>

#include "testing/log_access.h"
#include "testing/results.h"
#include "testing/rows.h"

namespace weir::testing {

Result<void> TrailFold::step(State& state, const Entry& entry) {
  if (entry.body == R"({"bad":true})") return Error(ErrorCode::CORRUPT, "bad body");
  ++state.count;
  state.hash = state.hash * 31 + sha256(entry.id.str() + entry.body).prefix64();
  state.last = entry.id.str();
  return {};
}

std::string TrailFold::save(const State& state) {
  return std::to_string(state.count) + " " + std::to_string(state.hash) + " " + state.last;
}

Result<Trail> TrailFold::load(std::string_view text) {
  State state;
  char last[300] = "";
  if (std::sscanf(std::string(text).c_str(), "%lu %lu %299s", &state.count, &state.hash, last) != 3)
    return Error(ErrorCode::CORRUPT, "no trail");
  state.last = last;
  return state;
}

Trail trail_at(TrailEngine& engine, Log& log, Seq seq, SessionNo session) {
  return *must(read_from(log, [&](LogReader& reader) { return engine.at(reader, session, seq); }));
}

Trail stepwise(const std::vector<Entry>& entries, Seq seq) {
  if (seq == 0) return {};
  Trail trail = stepwise(entries, entries[seq - 1].parent);
  must(TrailFold::step(trail, entries[seq - 1]));
  return trail;
}

void store_rows(Log& log, const std::vector<Entry>& entries) {
  must(write_to(log, [&](LogTxn& txn) -> Result<void> {
    TRY(const SessionRow session, txn.create_session(SessionId::trusted("s"), TimeMs{0}));
    for (const Entry& entry : entries) TRY_DO(txn.insert(session.no, entry));
    return {};
  }));
}

std::vector<Entry> make_chain(std::size_t count) {
  std::vector<Entry> out;
  out.reserve(count);
  for (Seq seq = 1; seq <= count; ++seq)
    out.push_back(make_row(seq, out.empty() ? nullptr : &out.back(), "message", "{}", "n" + std::to_string(seq)));
  return out;
}

}  // namespace weir::testing
