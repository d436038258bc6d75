// Which run events a state allows. The fold asks before it applies one (what is not allowed becomes an anomaly), strict
// append asks before it stores one (what is not allowed is refused): the same answer for both.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compaction/event.h"
#include "compaction/run_state.h"
#include "json/value.h"

namespace weir::compaction {

struct Illegal {
  enum class Why {
    malformed,   // the body
    stopped,     // the run has ended
    transition,  // the state does not allow it
    ledger,      // it contradicts what the ledger holds
  };
  Why why = Why::transition;
  std::string text;      // as in an anomaly, without its place
  bool applies = false;  // a contradiction that is recorded beside the event's effect
};

// `shape_known`: the body was found well formed already.
std::optional<Illegal> illegal(const RunState& state, Event event, const json::Value& body, bool shape_known = false);

// What is legal and will make the next compaction fail. Asked with the state after the event.
std::vector<std::string> warnings(const RunState& after, Event event, const json::Value& body);

}  // namespace weir::compaction
