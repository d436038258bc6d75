// A report against the bundle it was to be written from: the findings of the synthesis check.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "research/citations.h"

namespace weir::research {

struct ReportCheck {
  std::vector<Error> findings;  // each with `line` where it has one
  std::vector<std::string> warnings;
  // metrics
  int sections_present = 0;  // percent
  std::int64_t uncited_numbers = 0;
  double utilization = 0, duplication = 0;  // rounded
  std::int64_t numbers_not_in_input = 0;
  std::vector<std::string> cited;  // cids of the bundle that are mentioned, in order of their first mention
};

// `bundle_cids` in T-order.
ReportCheck check_report(std::string_view report, const std::vector<std::string>& bundle_cids, std::string_view bundle, const Pool& pool);

}  // namespace weir::research
