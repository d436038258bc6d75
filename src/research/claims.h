// The key claims of a summary: what it cites, said in its own words.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "research/markdown.h"
#include "research/sentences.h"
#include "research/summary.h"

namespace weir::research {

struct FoundClaim {
  Claim claim;
  std::vector<std::string> numbers;  // in normal form, in order
};

struct Claims {
  std::vector<FoundClaim> found;       // in document order
  std::vector<std::string> mentioned;  // cids anywhere in the text, distinct, T-order
  struct BadConfidence {
    std::size_t line;  // from 1
    std::string written;
  };
  std::vector<BadConfidence> bad_confidences;
  std::size_t malformed = 0;   // mentions that are none
  bool without_words = false;  // something cited says nothing
};
Claims claims_of(const std::vector<Line>& lines, const std::vector<Unit>& units);

}  // namespace weir::research
