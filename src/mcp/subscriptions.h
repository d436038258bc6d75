// Who wants to hear what changed. What a listener hears follows from the log alone, whoever wrote it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "api/call.h"

namespace weir::mcp {

struct Wanted {
  bool tools = false, prompts = false, resources = false;  // changes of these lists
  std::set<std::string> uris;                              // of resources
};

class Subscriptions {
 public:
  // A change: notifications/tools/list_changed and the like; the uri of resources/updated, else empty.
  using Tell = std::function<void(std::string_view method, std::string_view uri)>;

  explicit Subscriptions(api::World& world);
  ~Subscriptions();

  std::uint64_t add(Wanted wanted, Tell tell);
  void change(std::uint64_t listener, Wanted wanted);
  void remove(std::uint64_t listener);

  // For changes that are not in the log.
  void publish(std::string_view method, std::string_view uri = {});

 private:
  struct Listener {
    Wanted wanted;
    Tell tell;
  };
  void look();
  std::string state_of(LogReader& reader, const std::string& uri) const;
  void learn(const Wanted& wanted);

  api::World& world_;
  std::mutex mutex_;
  std::map<std::uint64_t, Listener> listeners_;
  std::map<std::string, std::string, std::less<>> states_;  // by uri, when it was looked at last
  std::size_t sessions_ = 0;
  std::chrono::steady_clock::time_point listed_at_{};
  std::uint64_t next_ = 1, feed_ = 0;
};

}  // namespace weir::mcp
