#include "http/loop.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "base/check.h"
#include "base/files.h"
#include "base/function_ref.h"
#include "http/answer_head.h"

namespace weir::http {
namespace {

constexpr std::uint64_t kListener = 0, kLetters = 1, kFirstConnection = 2;  // ids of epoll
constexpr int kLookMs = 100;                                                // at signals, at least
constexpr int kEvents = 128;

Tick clock_now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// One that there is no memory for is closed; the others go on.
void attempt(Connection& connection, FunctionRef<void(Connection&)> work) {
  try {
    work(connection);
  } catch (const std::bad_alloc&) {
    connection.kill();
  }
}

}  // namespace

Loop::Loop(std::unique_ptr<Listener> listener, const Limits& limits, Site& site)
    : url_(listener->url()),
      listener_(std::move(listener)),
      limits_(limits),
      common_{limits_, site, std::make_shared<Mailbox>()},
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      next_id_(kFirstConnection) {
  common_.now = clock_now();
  common_.take_in = [this](Connection& connection) { return take_in(connection); };
  if (!watch(listener_->descriptor(), kListener, EPOLLIN, true) || !watch(common_.mailbox->descriptor(), kLetters, EPOLLIN, true))
    failed_ = errno;
}

Result<void> Loop::can_run() const {
  if (failed_ != 0) return storage_error("cannot wait for connections on", url_, failed_);
  return {};
}

Loop::~Loop() {
  connections_.clear();
  if (epoll_ >= 0) ::close(epoll_);
}

bool Loop::watch(int descriptor, std::uint64_t id, std::uint32_t events, bool added) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  const bool done = ::epoll_ctl(epoll_, added ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, descriptor, &event) == 0;
  WEIR_CHECK(done || added);  // only one more may be too many
  return done;
}

Result<void> Loop::run(const std::function<int()>& signal) {
  relay_ = std::make_unique<Relay>([&] { return step(signal); }, [this] { common_.mailbox->wake(); });
  relay_->run();
  relay_.reset();
  listener_->close();
  connections_.clear();
  return can_run();
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
    std::erase_if(connections_, [this](const auto& one) { return one.second->idle() && (strangers_.erase(one.first), true); });
  }
  return connections_.empty() || common_.now >= drain_began_ + limits_.drain_ms;
}

int Loop::wait_ms() const {
  const Tick until = std::min({next_deadline_, common_.now + kLookMs, listening_ ? INT64_MAX : accept_again_});
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
      attempt(*found->second, [&](Connection& connection) { connection.ready(events[i].events); });
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
    strangers_.erase(connection.id());
    connections_.erase(connection.id());
    return;
  }
  next_deadline_ = std::min(next_deadline_, connection.deadline());
  const std::uint32_t wanted = connection.wanted();
  if (wanted == connection.watched) return;
  watch(connection.descriptor(), connection.id(), wanted, false);
  connection.watched = wanted;
}

void Loop::stop_listening(Tick until) {
  listening_ = false;
  accept_again_ = until;
  watch(listener_->descriptor(), kListener, 0, false);
}

// No more at a time than half of the strangers' share, so that each has a turn in which what it sends is read. Who has
// just come is not pushed out by a crowd behind it, which waits in the kernel: the owner may be slower than a knock.
void Loop::take_connections() {
  const std::size_t most = std::max<std::size_t>(1, limits_.strangers / 2);
  for (std::size_t taken = 0; taken < most; ++taken) {
    if (strangers_.size() >= limits_.strangers && common_.now < strangers_.begin()->second + limits_.stranger_ms)
      return stop_listening(strangers_.begin()->second + limits_.stranger_ms);
    const int descriptor = listener_->accept();
    if (descriptor == Listener::kNone) return;
    if (descriptor == Listener::kExhausted) {
      // A stranger's descriptor is of more use to who knocks. Asking again at once without one would only burn the processor.
      if (!strangers_.empty()) {
        make_room_for_stranger();
        continue;
      }
      return stop_listening(common_.now + kLookMs);
    }
    while (strangers_.size() >= limits_.strangers) make_room_for_stranger();
    const std::uint64_t id = next_id_++;
    Connection& connection = *(connections_[id] = std::make_unique<Connection>(common_, descriptor, id));
    strangers_.emplace(id, common_.now);
    connection.watched = connection.wanted();
    if (!watch(descriptor, id, connection.watched, true)) connection.kill();
    settle(connection);
  }
}

// The oldest stranger goes, or stops being one: what it has sent by now is looked at first.
void Loop::make_room_for_stranger() {
  Connection& oldest = *connections_.at(strangers_.begin()->first);
  attempt(oldest, [](Connection& connection) { connection.ready(EPOLLIN); });
  if (!oldest.known()) oldest.displace();
  settle(oldest);
}

// Those who are known have all places but the strangers'.
bool Loop::take_in(Connection& connection) {
  const std::size_t places = limits_.connections - std::min(limits_.connections, limits_.strangers);
  if (connections_.size() - strangers_.size() >= places && !make_room()) return false;
  strangers_.erase(connection.id());
  return true;
}

// One of those who are known gives up its place: who is slow, else who waits for nothing; of several the one that came first.
bool Loop::make_room() {
  for (const auto may_go : {&Connection::slow, &Connection::resting}) {
    const auto at = std::find_if(connections_.begin(), connections_.end(),
                                 [&](const auto& one) { return one.second->known() && (*one.second.*may_go)(); });
    if (at == connections_.end()) continue;
    connections_.erase(at);
    return true;
  }
  return false;
}

void Loop::deliver() {
  for (Letter& letter : common_.mailbox->take()) {
    const auto found = connections_.find(letter.connection);
    if (found == connections_.end()) {
      if (letter.flow) letter.flow->close();
      if (letter.receipt) letter.receipt->lost();
      continue;
    }
    attempt(*found->second, [&](Connection& connection) { connection.receive(std::move(letter)); });
    settle(*found->second);
  }
}

void Loop::sweep() {
  next_deadline_ = INT64_MAX;
  for (auto at = connections_.begin(); at != connections_.end();) {
    const std::uint64_t id = at->first;
    attempt(*at->second, [](Connection& connection) { connection.tick(); });
    settle(*at->second);
    at = connections_.upper_bound(id);  // others may have gone with it
  }
}

}  // namespace weir::http
