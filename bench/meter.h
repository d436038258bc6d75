// What the bench programs share: wall and CPU clocks, percentiles, and the lines they print.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace weir::bench {

inline double wall_us() { return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

inline double cpu_us() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return 1e6 * static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

inline double percentile(std::vector<double>& values, double p) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[std::min(values.size() - 1, static_cast<std::size_t>(p * static_cast<double>(values.size())))];
}

// One figure, for bench/run to put beside its peer's.
inline void figure(const char* name, double value, const char* unit) { std::printf("%s %.6g %s\n", name, value, unit); }

// A hash of the result, so that nobody makes a figure better by changing the answer.
inline void answer(const char* name, const std::string& hash) { std::printf("# answer %s %s\n", name, hash.c_str()); }

}  // namespace weir::bench
