// A summary: its key claims, what it must not hold, its size, and where it may be cut.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "research/citations.h"
#include "research/wave_output.h"

namespace weir::research {

enum class NumberCheck { pass, unchecked, warned };
enum class NumberRule { refuse, warn };

struct Claim {
  std::string claim;
  std::vector<std::string> cids;  // distinct, T-order
  double confidence = 50;
  bool confidence_given = false;
  std::size_t line = 0;  // from 1
  NumberCheck numbers = NumberCheck::pass;
};

struct SummaryCheck {
  std::vector<Claim> claims;
  std::vector<std::string> mentioned;  // cids, distinct, T-order
  std::vector<Failure> failures;       // in the order of the checks: the first is the error
  std::vector<std::string> warnings;
};

// From "not blank" on to the size; whether the perspective is known is the caller's to say.
SummaryCheck check_summary(std::string_view text, std::string_view perspective_id, const Pool& pool, double max_summary_kb,
                           NumberRule numbers);

struct Cut {
  std::string text;
  std::uint64_t kept = 0, of = 0;  // bytes
};
// The summary cut to the cap, with the line that says so; nothing if nothing fits.
std::optional<Cut> cut_summary(std::string_view text, double max_summary_kb);

}  // namespace weir::research
