// What providers demand of a list of messages, checked from the rendered JSON alone.
#pragma once

#include <string>

#include "json/value.h"

namespace weir::testing {

// Empty if {"messages","system"?} is a list the provider takes; else what is wrong with it.
std::string anthropic_fault(const json::Value& rendered);
std::string openai_fault(const json::Value& rendered);
std::string plain_fault(const json::Value& rendered);

}  // namespace weir::testing
