// A fold whose state tells the whole path, so that one wrong step shows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "session/fold_engine.h"
#include "store/log.h"

namespace weir::testing {

// The last id, and a hash over all ids and bodies.
struct TrailFold {
  static constexpr std::string_view kName = "trail";
  struct State {
    std::uint64_t count = 0, hash = 0;
    std::string last;
    bool operator==(const State&) const = default;
  };
  static State initial() { return {}; }
  static Result<void> step(State& state, const Entry& entry);  // CORRUPT for the body {"bad":true}
  static std::size_t bytes(const State&) { return 1000; }
  static std::string save(const State& state);
  static Result<State> load(std::string_view text);
};
using TrailEngine = FoldEngine<TrailFold>;
using Trail = TrailFold::State;

Trail trail_at(TrailEngine& engine, Log& log, Seq seq, SessionNo session = SessionNo{1});

// step(step(...)) along the parents of entries[seq - 1], with nothing remembered.
Trail stepwise(const std::vector<Entry>& entries, Seq seq);

// A log's first session, "s", with these entries.
void store_rows(Log& log, const std::vector<Entry>& entries);

// n1 <- n2 <- ...
std::vector<Entry> make_chain(std::size_t count);

}  // namespace weir::testing
