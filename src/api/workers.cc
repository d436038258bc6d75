#include "api/workers.h"

namespace weir::api {

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::run(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
    if (queue_.size() > idle_ && threads_.size() < most_threads_) threads_.emplace_back([this] { this->work(); });
  }
  wake_.notify_one();
}

std::size_t Workers::waiting() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

void Workers::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    wake_.wait(lock, [this] { return stop_ || !queue_.empty(); });
    --idle_;
    if (queue_.empty()) return;
    const std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

}  // namespace weir::api
