#include "http/loop.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "base/check.h"
#include "base/files.h"
#include "http/answer_head.h"

namespace weir::http {
namespace {

constexpr std::uint64_t kListener = 0, kLetters = 1, kFirstConnection = 2;  // ids of epoll
constexpr int kLookMs = 100;                                                // at signals, at least
constexpr std::size_t kTurnedAway = 64;                                     // connections beyond the limit that are told so at a time
constexpr int kEvents = 128;

Tick clock_now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Loop::Loop(std::unique_ptr<Listener> listener, const Limits& limits, Site& site)
    : url_(listener->url()),
      listener_(std::move(listener)),
      limits_(limits),
      common_{limits_, site, std::make_shared<Mailbox>()},
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      next_id_(kFirstConnection) {
  WEIR_CHECK(epoll_ >= 0);
  common_.now = clock_now();
  watch(listener_->descriptor(), kListener, EPOLLIN, true);
  watch(common_.mailbox->descriptor(), kLetters, EPOLLIN, true);
}

Loop::~Loop() {
  connections_.clear();
  ::close(epoll_);
}

void Loop::watch(int descriptor, std::uint64_t id, std::uint32_t events, bool added) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  WEIR_CHECK(::epoll_ctl(epoll_, added ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, descriptor, &event) == 0);
}

Result<void> Loop::run(const std::function<int()>& signal) {
  relay_ = std::make_unique<Relay>([&] { return step(signal); }, [this] { common_.mailbox->wake(); });
  relay_->run();
  relay_.reset();
  listener_->close();
  connections_.clear();
  if (failed_ != 0) return storage_error("wait for connections", url_, failed_);
  return {};
}

bool Loop::step(const std::function<int()>& signal) {
  if (!turn()) {
    failed_ = errno;
    return false;
  }
  // One that is answered again and again is still one signal.
  const int now = signal();
  if (now != 0 && now != signal_) ++signals_;
  signal_ = now;
  if (signals_ > 1) return false;
  if (signals_ == 1 && drain_ == Drain::no) {
    drain_ = Drain::shown;
    drain_began_ = common_.now;
    common_.site.draining();
  }
  if (drain_ != Drain::no && drained()) return false;
  common_.site.turn_over();
  return true;
}

bool Loop::work_here(const std::function<void()>& work) {
  if (!relay_->lend(work)) return false;
  common_.now = clock_now();
  deliver();
  return true;
}

// First it is said, then nobody is taken, then those who listen are told; who asked is answered.
bool Loop::drained() {
  if (drain_ == Drain::shown) {
    if (common_.now < drain_began_ + limits_.show_drain_ms) return false;
    drain_ = Drain::closed;
    common_.draining = true;
    listener_->close();
    common_.site.end_streams();
    std::erase_if(connections_, [](const auto& one) { return one.second->idle(); });
  }
  return connections_.empty() || common_.now >= drain_began_ + limits_.drain_ms;
}

int Loop::wait_ms() const {
  const Tick until = std::min(next_deadline_, common_.now + kLookMs);
  return static_cast<int>(std::max<Tick>(0, until - common_.now));
}

bool Loop::turn() {
  epoll_event events[kEvents];
  const bool quiet = common_.mailbox->rest() && !common_.site.busy();
  const int count = ::epoll_wait(epoll_, events, kEvents, quiet ? wait_ms() : 0);
  common_.mailbox->rise();
  if (count < 0 && errno != EINTR) return false;
  common_.now = clock_now();
  if (common_.now >= date_until_) {
    common_.date = http_date(common_.site.now());
    date_until_ = common_.now + 500;
  }
  bool letters = false, knocked = false;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t id = events[i].data.u64;
    if (id == kListener) {
      knocked = true;
    } else if (id == kLetters) {
      letters = true;
    } else if (const auto found = connections_.find(id); found != connections_.end()) {
      found->second->ready(events[i].events);
      settle(*found->second);
    }
  }
  if (letters) common_.mailbox->clear();
  deliver();
  if (knocked) take_connections();
  if (!listening_ && common_.now >= accept_again_ && drain_ != Drain::closed) {
    listening_ = true;
    watch(listener_->descriptor(), kListener, EPOLLIN, false);
  }
  if (common_.now >= next_deadline_) sweep();
  return true;
}

void Loop::settle(Connection& connection) {
  if (connection.dead()) {
    connections_.erase(connection.id());
    return;
  }
  next_deadline_ = std::min(next_deadline_, connection.deadline());
  const std::uint32_t wanted = connection.wanted();
  if (wanted == connection.watched) return;
  watch(connection.descriptor(), connection.id(), wanted, false);
  connection.watched = wanted;
}

void Loop::take_connections() {
  for (int taken = 0; taken < kEvents; ++taken) {
    const int descriptor = listener_->accept();
    if (descriptor == Listener::kNone) return;
    if (descriptor == Listener::kExhausted) {
      // Asking again at once would only burn the processor.
      listening_ = false;
      accept_again_ = common_.now + kLookMs;
      watch(listener_->descriptor(), kListener, 0, false);
      return;
    }
    if (connections_.size() >= limits_.connections + kTurnedAway) {
      ::close(descriptor);
      continue;
    }
    const bool room = make_room();
    const std::uint64_t id = next_id_++;
    Connection& connection = *(connections_[id] = std::make_unique<Connection>(common_, descriptor, id));
    connection.watched = connection.wanted();
    watch(descriptor, id, connection.watched, true);
    if (!room) connection.turn_away();
    settle(connection);
  }
}

// Is there a place for one more? Who was slow gives his up.
bool Loop::make_room() {
  if (connections_.size() < limits_.connections) return true;
  for (auto at = connections_.begin(); at != connections_.end(); ++at) {
    if (!at->second->slow()) continue;
    connections_.erase(at);
    return connections_.size() < limits_.connections;
  }
  // Else one that waits for nothing, the one that came first.
  for (auto at = connections_.begin(); at != connections_.end(); ++at) {
    if (!at->second->resting()) continue;
    connections_.erase(at);
    return connections_.size() < limits_.connections;
  }
  return false;
}

void Loop::deliver() {
  for (Letter& letter : common_.mailbox->take()) {
    const auto found = connections_.find(letter.connection);
    if (found == connections_.end()) {
      if (letter.flow) letter.flow->close();
      if (letter.delivery) common_.site.withdraw(std::move(letter.delivery));
      continue;
    }
    found->second->receive(std::move(letter));
    settle(*found->second);
  }
}

void Loop::sweep() {
  next_deadline_ = INT64_MAX;
  for (auto at = connections_.begin(); at != connections_.end();) {
    Connection& connection = *at++->second;
    connection.tick();
    settle(connection);
  }
}

}  // namespace weir::http
