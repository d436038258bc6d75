// What may be chosen about reads: `read.<option>` in the configuration. Options that change answers are off by default.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/limits.h"
#include "readcache/baseline.h"
#include "readcache/unified.h"

namespace weir {

struct ReadOptions {
  bool enabled = true;              // off: plain reads, nothing recorded
  bool range_diff = false;          // a changed range may be answered as a diff of that range
  bool never_inflate = false;       // a marker or diff that is not smaller gives way to the plain read
  bool shift_map = false;           // a range shown under other line numbers may be unchanged
  bool located = false;             // markers say where the content was shown
  std::uint64_t marker_repeat = 2;  // the same marker in a row before content is sent; 0: no limit

  BaselineLimits answer;                              // of one answer
  std::uint64_t max_file_bytes = 256 * limits::kMiB;  // more is refused
  std::uint64_t store_max_bytes = 8 * limits::kMiB;   // more is compared by version only

  std::uint64_t diff_max_bytes = 2 * limits::kMiB, diff_max_lines = 12000;
  DiffRatios diff_ratios;
  std::uint64_t diff_max_cost = 20'000'000;  // line comparisons, so that answers repeat
  std::uint64_t diff_deadline_ms = 250;      // the backstop
  std::uint64_t versions_per_read = 8;       // earlier versions loaded for one answer
  std::uint64_t view_intervals = 4096;       // remembered for one path

  std::vector<std::string> roots;
  std::vector<std::string> deny;
  bool refuse_denied = false;  // else a denied file is served, and leaves no trace
  bool refuse_hard_links = false;
  std::uint64_t blob_budget_bytes = std::uint64_t{1} << 30;
};

}  // namespace weir
