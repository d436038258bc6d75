// T-order: the one sort order of research runs, the same under any locale.
#pragma once

#include <string_view>

namespace weir::research {

// < 0, 0, > 0. Both must be UTF-8.
int compare_t(std::string_view a, std::string_view b);

struct TLess {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const { return compare_t(a, b) < 0; }
};

}  // namespace weir::research
