// One connection: reads requests, one at a time, and writes their answers in order. Owned and called by the loop alone.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unread.h"
#include "http/exchange.h"
#include "http/limits.h"
#include "http/outbox.h"
#include "http/parser.h"
#include "http/site.h"
#include "service/answers_in_flight.h"

namespace weir::http {

using Tick = std::int64_t;  // milliseconds of a clock that never goes back
inline constexpr Tick kNever = INT64_MAX;

class Connection;

// What connections share; the loop keeps it.
struct Common {
  const Limits& limits;
  Site& site;
  std::shared_ptr<Mailbox> mailbox;
  Tick now = 0;
  std::string date;
  bool draining = false;  // every answer is its connection's last
  std::size_t imports = 0;
  std::size_t unsent = 0;             // bytes of answers that wait for their clients
  std::deque<Connection*> in_flight;  // those with answers that are not known to be received, the last first
  PeerReads peer_reads;
  // Takes a stranger that has shown the token in among those who are known. False: there is no place, and it stays a stranger.
  std::function<bool(Connection&)> take_in;
};

class Connection {
 public:
  Connection(Common& common, int descriptor, std::uint64_t id);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int descriptor() const { return descriptor_; }
  std::uint64_t id() const { return id_; }
  bool dead() const { return dead_; }
  std::uint32_t wanted() const;  // of epoll
  std::uint32_t watched = 0;     // what epoll was asked for

  void ready(std::uint32_t events);
  void receive(Letter letter);
  Tick deadline() const;
  void tick();

  // Has one of its requests come with the token, or where none is asked for, been one that is let in? Such a connection gives way to its
  // own kind only, so that strangers cannot shut the owner out.
  bool known() const { return known_; }
  // There are too many strangers, and this one has to go: it is told so if it waits for an answer, and closed at once.
  void displace();
  // Has it kept others waiting, without ever having asked a whole question?
  bool slow() const;
  // Has it been answered, and asked nothing for a while?
  bool resting() const { return idle() && !first_ && common_.now - waiting_since_ >= common_.limits.slow_ms; }
  bool idle() const { return phase_ == Phase::head && input_.empty() && outbox_.empty(); }
  void kill();

 private:
  enum class Phase { head, body, working, streaming, answered, lingering };

  void read();
  void pump();
  bool step();
  bool arrived();  // the head; false: refused
  void dispatch();
  void begin_request();
  void begin_close();
  void leave();  // the client has stopped sending: waits until it is known whether it has taken the answer
  bool undelivered();
  void settle_answers();
  void answered(ReceiptPtr receipt);
  PeerRead peer_read() { return common_.peer_reads.look(descriptor_, outbox_.added()); }
  void receive_what_was_read();
  void refuse(const Problem& problem, bool close);
  std::optional<Error> no_room(std::size_t bytes) const;
  void answer(int status, const api::Headers& headers, std::string body);
  void open_stream(Letter& letter);
  void end_stream();
  void finish();
  void flush();
  void count_import(bool on);
  void count_unsent();
  Tick after(int ms) const { return common_.now + ms; }

  Common& common_;
  const int descriptor_;
  const std::uint64_t id_;
  Parser parser_;
  std::string input_;
  std::size_t taken_ = 0;  // of the input's front
  Outbox outbox_;
  Phase phase_ = Phase::head;
  Tick deadline_ = 0, progress_ = 0, waiting_since_ = 0, left_at_ = 0;
  bool dead_ = false, hung_up_ = false, close_ = false, importing_ = false, first_ = true, known_ = false;

  AnswersInFlight answers_;
  bool reset_ = false;  // the connection ended with an error

  // The request under way.
  std::uint64_t serial_ = 0;
  Admission admission_;
  std::weak_ptr<Exchange> exchange_;
  std::shared_ptr<Flow> flow_;
  bool head_only_ = false, chunked_ = false, event_stream_ = false;
  int version_ = 11, status_ = 0;
  std::string method_ = "other", path_ = "other", trace_, instance_;
  Tick begun_ = 0, comment_at_ = 0, abandon_at_ = kNever;
  std::uint64_t added_before_ = 0;
  std::size_t unsent_ = 0;    // as it is counted
  std::size_t imported_ = 0;  // of a long body, when it was last given more time
};

}  // namespace weir::http
