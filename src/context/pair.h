// Calls and their results side by side: providers refuse a list in which a call is not answered at once, or a result answers
// nothing.
#pragma once

#include <vector>

#include "context/neutral.h"

namespace weir::context {

// The messages in order, every result moved behind the nearest earlier message with its call, in call order. A result of no
// call is left out; a call without one gets a placeholder, and `unanswered` says so.
std::vector<Message> pair_results(std::vector<Message> messages, json::Arena& arena, bool& unanswered);

}  // namespace weir::context
