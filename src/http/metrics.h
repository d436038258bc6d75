// What the server counts, and all of it as Prometheus takes it. Labels are templates of routes and words of closed lists.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>

#include "http/site.h"
#include "service/service.h"

namespace weir::http {

class Metrics {
 public:
  void request(const Finished& request);
  void mcp(std::string_view era, std::string_view method, std::string_view result);
  void auth_failure() { ++auth_failures_; }
  void event_streams(int change) { event_streams_ += change; }

  // text/plain; version=0.0.4. Looks at the store.
  std::string text(Service& service, std::string_view version) const;

 private:
  using Labels = std::tuple<std::string, std::string, std::string>;
  mutable std::mutex mutex_;
  std::map<std::tuple<std::string, std::string, int>, std::uint64_t> requests_;  // route, method, status
  std::map<Labels, std::uint64_t> mcp_;                                          // era, method, result
  Counters::Histogram seconds_;
  std::atomic<std::uint64_t> auth_failures_{0};
  std::atomic<std::int64_t> event_streams_{0};
};

}  // namespace weir::http
