// One loop, two threads. Who has the lead may do a piece of quick work between two turns itself: that saves waking a worker for it and
// being woken by it. Should it take longer than a moment, the other thread takes the lead until it is done.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

namespace weir::http {

class Relay {
 public:
  // `turn`: one turn of the loop, false when it was the last. `wake`: ends the wait of a turn, from any thread.
  Relay(std::function<bool()> turn, std::function<void()> wake);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  // Turns until the last one. The caller has the lead.
  void run();
  // Within a turn, as its last act: works while nobody has the lead, or the other thread. False, and nothing is done: it is lent already.
  bool lend(const std::function<void()>& work);

 private:
  void stand_by();
  void take_over();

  const std::function<bool()> turn_;
  const std::function<void()> wake_;
  std::mutex lead_;  // guards all that a turn does
  bool over_ = false;
  std::atomic<bool> lent_{false}, wanted_{false};
  std::atomic<std::uint64_t> loans_{0};

  std::mutex mutex_;
  std::condition_variable called_;
  std::atomic<bool> parked_{false};
  bool stop_ = false;
  std::thread other_;
};

}  // namespace weir::http
