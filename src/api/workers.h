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

class Workers {
 public:
  explicit Workers(std::size_t threads);
  ~Workers();  // what was begun is finished; what waits is done too
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void run(std::function<void()> work);
  std::size_t waiting() const;

 private:
  void work();

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace weir::api
