#include "http/mailbox.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "base/check.h"

namespace weir::http {

void Flow::close() {
  open_.store(false, std::memory_order_release);
  wake();
}

void Flow::written(std::size_t bytes) {
  queued_.fetch_sub(bytes);
  if (watched_.load() && roomy()) wake();
}

void Flow::wake() {
  std::function<void()> told;
  {
    const std::lock_guard lock(mutex_);
    told.swap(told_);
    watched_ = false;
  }
  changed_.notify_all();
  if (told) told();
}

bool Flow::wait_for_room(int timeout_ms) {
  std::unique_lock lock(mutex_);
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  while (open() && !roomy()) {
    watched_ = true;
    // The loop may have written the last of it before it was watched.
    if (roomy()) break;
    if (changed_.wait_until(lock, until) == std::cv_status::timeout) return open() && roomy();
  }
  return open();
}

void Flow::tell_room(std::function<void()> told) {
  {
    const std::lock_guard lock(mutex_);
    told_ = std::move(told);
    watched_ = true;
  }
  if (roomy() || !open()) wake();
}

Mailbox::Mailbox() : descriptor_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
Mailbox::~Mailbox() { ::close(descriptor_); }

void Mailbox::wake() {
  const std::uint64_t one = 1;
  // A full counter wakes as well.
  [[maybe_unused]] const auto written = ::write(descriptor_, &one, sizeof one);
}

void Mailbox::clear() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(descriptor_, &count, sizeof count);
}

void Mailbox::post(Letter letter) {
  bool resting = false;
  {
    const std::lock_guard lock(mutex_);
    letters_.push_back(std::move(letter));
    resting = std::exchange(resting_, false);  // it is woken once
  }
  if (resting) wake();
}

std::vector<Letter> Mailbox::take() {
  std::vector<Letter> out;
  const std::lock_guard lock(mutex_);
  out.swap(letters_);
  return out;
}

bool Mailbox::rest() {
  const std::lock_guard lock(mutex_);
  resting_ = letters_.empty();
  return resting_;
}

void Mailbox::rise() {
  const std::lock_guard lock(mutex_);
  resting_ = false;
}

Stream::~Stream() { end(); }

bool Stream::post(std::size_t size, std::string bytes, std::shared_ptr<const std::string> shared) {
  if (ended_ || !flow_->open()) return false;
  if (size == 0) return true;
  if (flow_->add(size) > flow_->limit) {
    cut();
    return false;
  }
  mailbox_->post({Letter::Kind::bytes, flow_->connection, 0, flow_, 0, {}, std::move(bytes), std::move(shared)});
  return true;
}

bool Stream::send(std::string_view bytes) { return post(bytes.size(), std::string(bytes), nullptr); }

bool Stream::send_shared(std::shared_ptr<const std::string> bytes) {
  const std::size_t size = bytes->size();
  return post(size, {}, std::move(bytes));
}

bool Stream::send_patiently(std::string bytes, int& patience_ms) {
  if (ended_ || !flow_->open()) return false;
  if (flow_->queued() + bytes.size() > flow_->limit && flow_->queued() > 0) {
    const auto since = std::chrono::steady_clock::now();
    const bool room = flow_->wait_for_room(patience_ms);
    patience_ms -= static_cast<int>((std::chrono::steady_clock::now() - since) / std::chrono::milliseconds(1));
    if (!room) {
      cut();
      return false;
    }
  }
  return send_unbounded(std::move(bytes));
}

bool Stream::send_unbounded(std::string bytes) {
  if (ended_ || !flow_->open()) return false;
  if (bytes.empty()) return true;
  flow_->add(bytes.size());
  mailbox_->post({Letter::Kind::bytes, flow_->connection, 0, flow_, 0, {}, std::move(bytes), nullptr, nullptr});
  return true;
}

void Stream::end(ReceiptPtr receipt) {
  if (ended_.exchange(true)) {
    if (receipt) receipt->lost();
    return;
  }
  mailbox_->post({Letter::Kind::end, flow_->connection, 0, flow_, 0, {}, {}, nullptr, std::move(receipt)});
}

void Stream::cut() {
  if (ended_.exchange(true)) return;
  flow_->close();
  mailbox_->post({Letter::Kind::cut, flow_->connection, 0, flow_, 0, {}, {}, nullptr});
}

}  // namespace weir::http
