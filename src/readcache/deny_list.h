// The one list of files whose content leaves no trace: keys, credentials, and Weir's own store.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weir {

class DenyList {
 public:
  // `names` (read.deny) are added to the list; a * in one stands for anything. `store` is the canonical path of Weir's own
  // store, or empty.
  DenyList(const std::vector<std::string>& names, std::string store);

  // Names are compared without regard to case, Unicode form and trailing dots and spaces, as some file systems do. The path
  // must be canonical, or a link walks around the list.
  bool denies(std::string_view canonical_path) const;

 private:
  std::vector<std::string> names_;  // folded
  std::string store_;
};

}  // namespace weir
