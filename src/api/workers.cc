#include "api/workers.h"

#include <new>
#include <system_error>

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
  std::function<void()> here;
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
    if (queue_.size() > idle_ && threads_.size() < most_threads_) begin_thread();
    if (threads_.empty()) {
      here = std::move(queue_.back());
      queue_.pop_back();
    }
  }
  if (here) return within(here);
  wake_.notify_one();
}

// Where the system gives no more threads, those there are do the work, or whoever asks.
void Workers::begin_thread() {
  try {
    threads_.emplace_back([this] { this->work(); });
  } catch (const std::system_error&) {
  }
}

// Whoever waits for what there is no memory for hears that from what it held, which goes with it.
void Workers::within(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::bad_alloc&) {
  }
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
    within(work);
    lock.lock();
  }
}

}  // namespace weir::api
