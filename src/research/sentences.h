// Where the sentences of a paragraph end.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "research/citations.h"

namespace weir::research {

// What a text cites and how sure it is, found once.
struct Marks {
  std::vector<Mention> mentions;
  std::vector<ConfidenceMark> confidences;
  std::size_t malformed = 0;  // mentions that are none
};
Marks marks_in(std::string_view text);

// Bytes at which each sentence of the text ends, mentions and confidence marks behind its stop included; the last is the text's
// end unless only white space is left there.
std::vector<std::size_t> sentence_ends(std::string_view text, const Marks& marks);

}  // namespace weir::research
