// What other threads have to say to the one that owns the connections: answers, and parts of answers that are streams.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/stream.h"

namespace weir::http {

// The way of a stream's bytes to its client: filled by whoever makes them, emptied by the loop.
class Flow {
 public:
  Flow(std::uint64_t connection_id, std::size_t most) : connection(connection_id), limit(most) {}

  const std::uint64_t connection;
  const std::size_t limit;

  bool open() const { return open_.load(std::memory_order_acquire); }
  std::size_t queued() const { return queued_.load(std::memory_order_acquire); }
  void close();
  std::size_t add(std::size_t bytes) { return queued_.fetch_add(bytes) + bytes; }
  void written(std::size_t bytes);

  // Waits until there is room again, or nobody takes it any more (false), or that long.
  bool wait_for_room(int timeout_ms);
  // Calls `told` once, in the loop's thread, when there is room or the flow has closed; maybe at once.
  void tell_room(std::function<void()> told);

 private:
  bool roomy() const { return queued() <= limit / 4; }
  void wake();

  std::atomic<std::size_t> queued_{0};
  std::atomic<bool> open_{true}, watched_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> told_;
};

struct Letter {
  enum class Kind { answer, open, bytes, end, cut };
  Kind kind = Kind::answer;
  std::uint64_t connection = 0;
  std::uint64_t serial = 0;    // of the connection's requests; of answer and open
  std::shared_ptr<Flow> flow;  // of all others, and of open
  int status = 0;
  api::Headers headers;
  std::string body;
  std::shared_ptr<const std::string> shared;  // bytes that many get, instead of a body
  ReceiptPtr receipt;                         // of answer and end
};

class Mailbox {
 public:
  Mailbox();
  ~Mailbox();
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  int descriptor() const { return descriptor_; }  // -1: the system had none; readable when its reader is to wake up
  void post(Letter letter);
  void wake();
  void clear();  // it has
  std::vector<Letter> take();

  // The reader is about to wait: letters wake it, until it rises. False: there is one already.
  bool rest();
  void rise();

 private:
  const int descriptor_;
  std::mutex mutex_;
  std::vector<Letter> letters_;
  bool resting_ = false;
};

class Stream final : public api::Stream {
 public:
  Stream(std::shared_ptr<Mailbox> mailbox, std::shared_ptr<Flow> flow) : mailbox_(std::move(mailbox)), flow_(std::move(flow)) {}
  ~Stream() override;

  bool send(std::string_view bytes) override;
  using api::Stream::end;
  void end(ReceiptPtr receipt) override;
  bool open() const override { return flow_->open(); }

  // However much is waiting: for who looks first whether there is room.
  bool send_unbounded(std::string bytes);
  bool send_shared(std::shared_ptr<const std::string> bytes);
  // Waits for room first, that long in all; for lines, of which one may be larger than the queue.
  bool send_patiently(std::string bytes, int& patience_ms);
  // The connection is closed where it stands, so that nobody takes what was sent for the whole.
  void cut();
  Flow& flow() { return *flow_; }

 private:
  bool post(std::size_t size, std::string bytes, std::shared_ptr<const std::string> shared);

  const std::shared_ptr<Mailbox> mailbox_;
  const std::shared_ptr<Flow> flow_;
  std::atomic<bool> ended_{false};
};

}  // namespace weir::http
