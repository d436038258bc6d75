// Event streams. Who comes is first told what the log holds, as fast as he reads; then he is live, and what is new is read once
// for all who listen to a session and sent to each. A live client that does not read is closed, and comes back by id.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/workers.h"
#include "http/exchange.h"
#include "http/happenings.h"
#include "service/feed.h"

namespace weir::http {

class Events {
 public:
  // `later` runs work in another thread and does not wait for it.
  using Later = std::function<void(std::function<void()>)>;
  Events(Service& service, Feed& feed, Later later);
  ~Events();
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  void serve(Exchange& exchange);
  // Everybody is told that it is over.
  void end();

 private:
  struct Listener {
    std::shared_ptr<Stream> stream;
    Wanted wanted;
    Seq next = 1;  // of whoever it is with: a worker that catches up, or its channel
  };
  // A session somebody listens to.
  struct Channel {
    explicit Channel(SessionRow row) : session(std::move(row)) {}
    const SessionRow session;
    std::mutex mutex;
    bool begun = false;  // `last` and `heads` have been looked at
    Seq last = 0;        // what the live ones have
    Heads heads;
    std::map<std::string, std::string> head_ids;
    std::vector<std::shared_ptr<Listener>> live;
  };
  using ChannelPtr = std::shared_ptr<Channel>;
  using ListenerPtr = std::shared_ptr<Listener>;

  Result<void> begin(Exchange& exchange);
  ChannelPtr channel_of(const SessionRow& session);
  void catch_up(const ChannelPtr& channel, const ListenerPtr& listener);
  bool join(Channel& channel, const ListenerPtr& listener);
  void pump_all();
  Result<void> pump(Channel& channel);
  void cut(Channel& channel);
  void send_heads(const std::map<std::string, std::string>& ids, Listener& listener);
  void forget_closed();

  Service& service_;
  Feed& feed_;
  const Later later_;
  std::mutex mutex_;
  std::map<std::uint64_t, ChannelPtr> channels_;  // by the session's number
  std::vector<std::weak_ptr<Listener>> listeners_;
  std::uint64_t feed_listener_ = 0;  // 0: none yet
  bool ended_ = false;
  std::atomic<bool> pumping_{false};
  api::Workers pump_{1};  // its own thread: what is new does not wait behind long requests
};

}  // namespace weir::http
