// Threads that do what may take long, so that those who read and write connections never wait.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace weir::api {

// A thread is begun when there is work and nobody idle, up to so many.
class Workers {
 public:
  explicit Workers(std::size_t most_threads) : most_threads_(most_threads) {}
  ~Workers();  // what was begun is finished; what waits is done too
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void run(std::function<void()> work);
  std::size_t waiting() const;

 private:
  void work();
  void begin_thread();
  static void within(const std::function<void()>& work);

  const std::size_t most_threads_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;
  std::size_t idle_ = 0;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

// Who waits for the store's lock, or walks a long session, holds up only his own kind.
struct Lanes {
  explicit Lanes(std::size_t most_threads) : slow(most_threads), writing(most_threads), asking(most_threads) {}
  Workers quick{2};       // waits for nothing
  Workers slow, writing;  // reads at length; may wait for the lock
  Workers asking;         // waits for what a client says
};

}  // namespace weir::api
