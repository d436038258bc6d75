// The one list of files whose content leaves no trace: keys, credentials, and Weir's own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weir {

class DenyList {
 public:
  // `names` (read.deny) are added to the list; a * in one stands for anything. `store` is the canonical path of Weir's own
  // store, or empty; `own` those of other files of its own, such as tokens.
  DenyList(const std::vector<std::string>& names, std::string store, std::vector<std::string> own = {});

  // Names are compared without regard to case, Unicode form and trailing dots and spaces, as some file systems do, and a copy
  // (`.netrc~`, `hosts.yml.bak`) counts as what it is a copy of. The path
  // must be canonical, or a link walks around the list.
  bool denies(std::string_view canonical_path) const;

 private:
  bool denies(const std::string& directory, std::string_view name) const;  // both folded

  std::vector<std::string> names_;  // folded
  std::string store_;
  std::vector<std::string> own_;
};

}  // namespace weir
