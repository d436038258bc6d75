#include "http/relay.h"

#include <chrono>

namespace weir::http {
namespace {

constexpr std::chrono::milliseconds kMoment{2};  // between two looks: a piece of work that both of them see took too long
constexpr int kLooksBeforeParking = 50;          // without a loan

}  // namespace

Relay::Relay(std::function<bool()> turn, std::function<void()> wake)
    : turn_(std::move(turn)), wake_(std::move(wake)), other_([this] { stand_by(); }) {}

Relay::~Relay() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  called_.notify_one();
  other_.join();
}

void Relay::run() {
  const std::lock_guard lead(lead_);
  while (!over_)
    if (!turn_()) over_ = true;
}

bool Relay::lend(const std::function<void()>& work) {
  if (lent_) return false;
  lent_ = true;
  ++loans_;
  if (parked_) {
    const std::lock_guard lock(mutex_);
    called_.notify_one();
  }
  lead_.unlock();
  work();
  if (!lead_.try_lock()) {
    wanted_ = true;
    wake_();
    lead_.lock();
    wanted_ = false;
  }
  lent_ = false;
  return true;
}

// Looks now and then, so that a loan costs no system call; sleeps when there are none.
void Relay::stand_by() {
  std::unique_lock lock(mutex_);
  std::uint64_t seen = 0;
  int looks = 0;
  while (!stop_) {
    if (looks < kLooksBeforeParking) {
      called_.wait_for(lock, kMoment);
    } else {
      parked_ = true;
      called_.wait(lock, [&] { return stop_ || loans_ != seen; });
      parked_ = false;
    }
    const bool same = loans_ == seen;
    seen = loans_;
    looks = same ? looks + 1 : 0;
    if (!same || !lent_) continue;
    lock.unlock();
    take_over();
    lock.lock();
  }
}

void Relay::take_over() {
  const std::lock_guard lead(lead_);
  while (lent_ && !wanted_ && !over_)
    if (!turn_()) over_ = true;
}

}  // namespace weir::http
