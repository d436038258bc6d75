// What a process that runs for long counts. Names and labels come from closed lists, so that nobody's data gets into them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace weir {

enum class Metric {
  append_entries,
  append_seconds,  // a histogram
  conflicts,
  reads,           // by mode
  read_bytes,      // by kind: file, answered, saved
  compactions,     // by result
  check_failures,  // by check
  import_lines,    // by format and result: "pi,known"
  masked,          // by rule
};

class Counters {
 public:
  // Upper bounds of a histogram's buckets, in seconds.
  static constexpr std::array<double, 12> kBounds = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10};
  struct Histogram {
    std::array<std::uint64_t, kBounds.size() + 1> buckets{};  // the last: above all bounds
    std::uint64_t count = 0;
    double sum = 0;
    void add(double seconds);
  };

  void add(Metric metric, std::string_view label = {}, std::uint64_t count = 1);
  void observe(Metric metric, double seconds);

  std::map<std::string, std::uint64_t> counted(Metric metric) const;  // by label
  Histogram observed(Metric metric) const;

 private:
  mutable std::mutex mutex_;
  std::map<Metric, std::map<std::string, std::uint64_t, std::less<>>> counts_;
  std::map<Metric, Histogram> histograms_;
};

}  // namespace weir
