// Names of the protocol in another case. Somebody else may read `Method` as `method` where we do not, so a message that holds one has
// two meanings and gets neither.
#pragma once

#include "json/decode.h"

namespace weir::mcp {

// Of the envelope: what should be there is named; empty: nothing is misspelt.
std::string misspelt_member(const json::Value& message);

// Of params and of what the protocol has in it, with paths. What a client sends of its own (arguments, capabilities) is not looked at.
void check_spelling(const json::Value& params, json::FieldErrors& errors);

}  // namespace weir::mcp
