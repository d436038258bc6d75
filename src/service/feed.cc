#include "service/feed.h"

#include <chrono>
#include <vector>

#include "base/memory.h"

namespace weir {

Feed::Feed(Service& service) : service_(service) {
  service_.on_commit([this] {
    {
      const std::lock_guard lock(mutex_);
      poked_ = true;
    }
    wake_.notify_one();
  });
}

Feed::~Feed() {
  service_.on_commit(nullptr);
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

std::uint64_t Feed::listen(Listener changed) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t listener = next_++;
  listeners_.emplace(listener, std::move(changed));
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  wake_.notify_one();
  return listener;
}

void Feed::leave(std::uint64_t listener) {
  const std::lock_guard calling(calling_);
  const std::lock_guard lock(mutex_);
  listeners_.erase(listener);
}

void Feed::again() {
  const std::lock_guard lock(mutex_);
  again_ = true;
}

void Feed::run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (listeners_.empty()) {
      wake_.wait(lock);
      continue;
    }
    wake_.wait_for(lock, std::chrono::milliseconds(kPollMs), [this] { return poked_ || stop_; });
    const bool again = std::exchange(again_, false);
    const bool poked = std::exchange(poked_, false) || again;
    lock.unlock();
    // Without the memory for it, the next turn looks again.
    const auto looked = within_memory([&]() -> Result<void> {
      const auto version = service_.log().version();
      if (poked || (version.ok() && *version != seen_)) call_listeners();
      if (version.ok()) seen_ = *version;
      return {};
    });
    lock.lock();
    again_ = again_ || (!looked.ok() && poked);
  }
}

void Feed::call_listeners() {
  const std::lock_guard calling(calling_);
  std::vector<Listener> listeners;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, listener] : listeners_) listeners.push_back(listener);
  }
  for (const Listener& listener : listeners) listener();
}

}  // namespace weir
