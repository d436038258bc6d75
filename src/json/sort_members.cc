#include "json/sort_members.h"

#include <algorithm>

#include "base/secrets.h"
#include "base/utf8.h"

namespace weir::json {

Result<void> sort_members(std::span<Member> members) {
  const auto less = [](const Member& a, const Member& b) { return compare_keys(a.key, b.key) < 0; };
  if (members.size() <= 12) {
    // Most objects are small and nearly in order: insertion beats the general sort's set-up.
    for (std::size_t i = 1; i < members.size(); ++i) {
      if (!less(members[i], members[i - 1])) continue;
      const Member moved = members[i];
      std::size_t j = i;
      for (; j > 0 && less(moved, members[j - 1]); --j) members[j] = members[j - 1];
      members[j] = moved;
    }
  } else if (!std::is_sorted(members.begin(), members.end(), less)) {
    std::sort(members.begin(), members.end(), less);
  }
  for (std::size_t i = 1; i < members.size(); ++i) {
    if (members[i - 1].key == members[i].key) {
      return Error(ErrorCode::INVALID_JSON, "the key '" + masked_excerpt(members[i].key, 80) + "' is there twice in one object");
    }
  }
  return {};
}

Error too_deep(std::size_t limit) { return Error(ErrorCode::INVALID_JSON, "nested deeper than " + std::to_string(limit) + " levels"); }

}  // namespace weir::json
