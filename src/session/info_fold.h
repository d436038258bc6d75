// What the session says of itself on a path: its `session_info` entries, the later over the earlier. A compaction changes
// nothing of it. Saved beside the log, so that nobody has to walk back to the root for it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "store/entry.h"

namespace weir {

struct InfoFold {
  static constexpr std::string_view kName = "info.v2";

  // Does whoever owns the log tell it of every compaction, edit and rewind (`barrier_feed`)?
  enum class Feed { unsaid, no, yes };

  struct State {
    std::string name, cwd;
    Feed feed = Feed::unsaid;
    Seq feed_said_at = 0;  // the entry that said so; one that was imported cannot: its host is not here
    bool operator==(const State&) const = default;
  };

  static State initial() { return {}; }
  static Result<void> step(State& state, const Entry& entry);
  static std::size_t bytes(const State& state) { return sizeof(State) + state.name.size() + state.cwd.size(); }
  static std::string save(const State& state);
  static Result<State> load(std::string_view text);
};

}  // namespace weir
