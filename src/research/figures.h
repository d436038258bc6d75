// Reported figures: six decimals, half up. Decisions are made on exact values, never on these.
#pragma once

#include <cstdint>
#include <string>

#include "json/value.h"

namespace weir::research {

double rounded(double value);                                  // by its exact decimal expansion
double kb_figure(std::uint64_t bytes);                         // of 1,024 bytes
double ratio_figure(std::uint64_t part, std::uint64_t whole);  // rounded(part / whole); 0 of 0
std::uint64_t cap_bytes(double kb);                            // the most bytes that are within so many KB

// Compact JSON as the tool Weir's runs follow writes it before it hashes: keys in T-order, integer-like ones first and rising.
std::string upstream_text(const json::Value& value);
std::string digest_upstream(const json::Value& value);  // `sha256:` and the hash of that

}  // namespace weir::research
