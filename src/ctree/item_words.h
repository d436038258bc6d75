// The fold's words as JSON strings, escaped once for a whole compilation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ctree/nodes_fold.h"

namespace weir::ctree {

class ItemWords {
 public:
  explicit ItemWords(const Words& words);
  std::string_view quoted(Word word) const { return quoted_[word]; }  // "" for none
  // The same cut to 64 code points: of roles and names, which are the caller's.
  std::string_view short_quoted(Word word) const { return short_[word]; }

 private:
  std::vector<std::string> quoted_, short_;
};

}  // namespace weir::ctree
