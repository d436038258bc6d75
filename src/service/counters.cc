#include "service/counters.h"

#include <algorithm>

namespace weir {

void Counters::Histogram::add(double seconds) {
  ++buckets[static_cast<std::size_t>(std::lower_bound(kBounds.begin(), kBounds.end(), seconds) - kBounds.begin())];
  ++count;
  sum += seconds;
}

void Counters::add(Metric metric, std::string_view label, std::uint64_t count) {
  const std::lock_guard lock(mutex_);
  auto& by_label = counts_[metric];
  const auto found = by_label.find(label);
  if (found != by_label.end()) {
    found->second += count;
  } else {
    by_label.emplace(label, count);
  }
}

void Counters::observe(Metric metric, double seconds) {
  const std::lock_guard lock(mutex_);
  histograms_[metric].add(seconds);
}

std::map<std::string, std::uint64_t> Counters::counted(Metric metric) const {
  const std::lock_guard lock(mutex_);
  const auto found = counts_.find(metric);
  if (found == counts_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

Counters::Histogram Counters::observed(Metric metric) const {
  const std::lock_guard lock(mutex_);
  const auto found = histograms_.find(metric);
  return found == histograms_.end() ? Histogram() : found->second;
}

}  // namespace weir
