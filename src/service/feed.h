// Tells who listens that the log has changed, by this process or another. It says that something happened, never what: a
// listener looks at the log, which is the only thing that knows.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "service/service.h"

namespace weir {

class Feed {
 public:
  explicit Feed(Service& service);
  ~Feed();
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

  // `changed` is called from the feed's own thread, one listener after another, soon after a commit here and within
  // kPollMs of one elsewhere. It must not wait, and may come without a reason.
  using Listener = std::function<void()>;
  std::uint64_t listen(Listener changed);
  void leave(std::uint64_t listener);  // does not return while its listener is being called

  // Whoever could not look at everything is called again soon, whether something changed or not.
  void again();

  static constexpr int kPollMs = 25;

 private:
  void run();
  void call_listeners();

  Service& service_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::map<std::uint64_t, Listener> listeners_;
  std::uint64_t next_ = 1;
  bool poked_ = false, again_ = false, stop_ = false;
  std::uint64_t seen_ = 0;  // the log's version; of the thread alone
  std::mutex calling_;
  std::thread thread_;  // runs while somebody listens
};

}  // namespace weir
