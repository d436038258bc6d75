// What the session says of itself on a path: its `session_info` entries, the later over the earlier. A compaction changes
// nothing of it. Saved beside the log, so that nobody has to walk back to the root for it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "store/entry.h"

namespace weir {

struct InfoFold {
  static constexpr std::string_view kName = "info.v1";

  struct State {
    std::string name, cwd;
    // False: the host cannot tell of its compactions, so nothing is ever known to be held. Once said it stays so: what a
    // later host could tell does not reach back.
    bool barrier_feed = true;
    bool operator==(const State&) const = default;
  };

  static State initial() { return {}; }
  static Result<void> step(State& state, const Entry& entry);
  static std::size_t bytes(const State& state) { return sizeof(State) + state.name.size() + state.cwd.size(); }
  static std::string save(const State& state);
  static Result<State> load(std::string_view text);
};

}  // namespace weir
