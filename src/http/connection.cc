#include "http/connection.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/limits.h"
#include "base/unread.h"
#include "http/answer_head.h"
#include "http/text.h"

namespace weir::http {
namespace {

constexpr std::size_t kReadBytes = 64 * limits::kKiB;
constexpr std::size_t kAhead = 64 * limits::kKiB;    // read of requests that wait for their turn
constexpr std::size_t kSwallow = 64 * limits::kKiB;  // of a body nobody wants, so that its connection stays of use
constexpr std::size_t kHaste = 8 * limits::kKiB;     // who sends so much of a body at a time is not slow
constexpr int kLingerMs = 1000;
constexpr int kHungUpMs = 200;
constexpr std::size_t kLookAt = 16;  // connections whose answers may have been read
constexpr int kLookMs = 5;           // whether a client that has stopped sending has taken its answer

// As the Trace Context recommendation writes it; nothing else gets into the journal.
bool is_trace(std::string_view text) { return text.size() == 55 && text.find_first_not_of("0123456789abcdef-") == std::string_view::npos; }

bool is_event_stream(const api::Headers& headers) {
  return std::any_of(headers.begin(), headers.end(),
                     [](const auto& one) { return same_name(one.first, "content-type") && one.second.starts_with("text/event-stream"); });
}

// It is told once.
bool take_error(int descriptor) {
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0;
}

HeadLimits head_limits(const Limits& limits) { return {limits.url_bytes, limits.header_bytes, limits.headers}; }

}  // namespace

Connection::Connection(Common& common, int descriptor, std::uint64_t id)
    : common_(common), descriptor_(descriptor), id_(id), parser_(head_limits(common.limits)) {
  deadline_ = after(common.limits.header_ms);
  waiting_since_ = common.now;
}

Connection::~Connection() {
  kill();
  ::close(descriptor_);
}

void Connection::kill() {
  if (dead_) return;
  dead_ = true;
  if (const auto exchange = exchange_.lock()) exchange->abandon();
  if (flow_) flow_->close();
  settle_answers();
  std::erase(common_.in_flight, this);
  count_import(false);
  count_unsent();
  if (phase_ == Phase::working || phase_ == Phase::streaming) {
    if (status_ == 0) status_ = info(ErrorCode::CANCELLED).http;
    finish();
  }
}

// Whoever closes with an answer unread ends the connection with an error, and so does an answer that comes after he has closed.
bool Connection::undelivered() {
  if (answers_.empty()) return false;
  reset_ = reset_ || take_error(descriptor_);
  return reset_ || !outbox_.empty() || peer_read() != PeerRead::all;
}

// The connection is over. Who has only closed it need not have read what he was sent.
void Connection::settle_answers() {
  reset_ = reset_ || take_error(descriptor_);
  if (reset_) {
    answers_.lose_all();
  } else if (hung_up_ && !undelivered()) {
    answers_.receive_all();
  }
}

void Connection::answered(ReceiptPtr receipt) {
  answers_.add(std::move(receipt));
  if (answers_.empty()) return;
  std::erase(common_.in_flight, this);
  common_.in_flight.push_front(this);
}

// A client with several connections goes on on any of them. What it has read of the others only the system knows.
void Connection::receive_what_was_read() {
  auto& all = common_.in_flight;
  for (std::size_t i = 0; i < std::min(all.size(), kLookAt); ++i) {
    Connection& other = *all[i];
    if (&other != this && other.idle() && !other.answers_.empty() && other.peer_read() == PeerRead::all) other.answers_.receive_all();
  }
  std::erase_if(all, [](const Connection* other) { return other->answers_.empty(); });
}

void Connection::leave() {
  if (!undelivered() || reset_) return kill();
  if (phase_ != Phase::lingering) left_at_ = common_.now;
  phase_ = Phase::lingering;
  if (common_.now - left_at_ >= kLingerMs) return kill();
  deadline_ = after(kLookMs);
}

void Connection::count_unsent() {
  const std::size_t now = dead_ ? 0 : outbox_.bytes();
  common_.unsent = common_.unsent + now - unsent_;
  unsent_ = now;
}

void Connection::count_import(bool on) {
  if (on != importing_) common_.imports += on ? 1 : std::size_t(-1);
  importing_ = on;
}

std::uint32_t Connection::wanted() const {
  const bool reading = phase_ == Phase::head || phase_ == Phase::body || phase_ == Phase::lingering || input_.size() - taken_ < kAhead;
  std::uint32_t out = 0;
  if (!hung_up_) out |= reading ? EPOLLIN : EPOLLRDHUP;
  if (!outbox_.empty()) out |= EPOLLOUT;
  return out;
}

void Connection::ready(std::uint32_t events) {
  if ((events & (EPOLLERR | EPOLLHUP)) != 0) return kill();
  if ((events & EPOLLIN) != 0) read();
  if ((events & EPOLLRDHUP) != 0 && (events & EPOLLIN) == 0) hung_up_ = true;
  if (hung_up_ && !dead_) {
    if (phase_ == Phase::streaming && event_stream_) return kill();
    if (phase_ == Phase::lingering) return leave();
    // Who has only stopped sending may still want the answer: a short one is sent, long work stops.
    if (phase_ == Phase::working) abandon_at_ = std::min(abandon_at_, after(kHungUpMs));
  }
  if (!dead_) pump();
}

void Connection::read() {
  static thread_local char buffer[kReadBytes];
  for (int i = 0; i < 4; ++i) {
    const auto got = ::recv(descriptor_, buffer, sizeof buffer, MSG_DONTWAIT);
    if (got == 0) {
      hung_up_ = true;
      return;
    }
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (got < 0) {
      reset_ = true;
      return kill();
    }
    if (phase_ == Phase::lingering) continue;
    if (phase_ == Phase::head && input_.size() == taken_) {
      // The answers before were written whole, and the client goes on. One elsewhere has read them then; of one here it is known.
      if (!answers_.empty() && peer_read() != PeerRead::not_all) answers_.receive_all();
      deadline_ = after(common_.limits.header_ms);
      waiting_since_ = begun_ = common_.now;
    }
    if (phase_ == Phase::body && static_cast<std::size_t>(got) >= kHaste) waiting_since_ = common_.now;
    input_.append(buffer, static_cast<std::size_t>(got));
    if (static_cast<std::size_t>(got) < sizeof buffer || input_.size() - taken_ >= kAhead) return;
  }
}

void Connection::flush() {
  if (outbox_.empty()) return;
  const Outbox::Wrote wrote = outbox_.write(descriptor_);
  if (wrote == Outbox::Wrote::failed) return kill();
  if (wrote != Outbox::Wrote::nothing) progress_ = common_.now;
  count_unsent();
}

void Connection::pump() {
  for (;;) {
    flush();
    if (dead_ || !outbox_.empty()) return;
    if (phase_ == Phase::answered) {
      if (close_) return begin_close();
      begin_request();
    }
    if (phase_ != Phase::head && phase_ != Phase::body) return;
    if (!step()) break;
  }
  flush();
  if (hung_up_ && !dead_ && (phase_ == Phase::head || phase_ == Phase::body)) leave();
}

// One step of reading a request; false: more bytes are needed.
bool Connection::step() {
  const std::size_t took = parser_.feed(std::string_view(input_).substr(taken_));
  taken_ += took;
  if (taken_ == input_.size()) {
    input_.clear();
    taken_ = 0;
  } else if (taken_ > kAhead) {
    input_.erase(0, taken_);
    taken_ = 0;
  }
  if (parser_.state() == Parser::State::failed) {
    refuse(parser_.problem(), true);
    return true;
  }
  if (parser_.state() == Parser::State::head) return false;
  if (phase_ == Phase::head && !arrived()) return true;
  if (parser_.state() == Parser::State::body) {
    // Who sends more than others may takes one of few places, once he does.
    if (!importing_ && parser_.request().body.size() > common_.limits.body_bytes) {
      if (common_.imports >= common_.limits.imports) {
        refuse(Error(ErrorCode::BUSY, "other imports are being received"), true);
        return true;
      }
      count_import(true);
    }
    // A long body has its time for every part of it.
    if (importing_ && parser_.request().body.size() - imported_ >= limits::kMiB) {
      imported_ = parser_.request().body.size();
      deadline_ = after(common_.limits.body_ms);
    }
    return took > 0 && !input_.empty();
  }
  if (admission_.refused) {
    refuse(*admission_.refused, !parser_.request().keep_alive);
  } else {
    dispatch();
  }
  return true;
}

bool Connection::arrived() {
  Request& request = parser_.request();
  phase_ = Phase::body;
  deadline_ = after(common_.limits.body_ms);
  method_ = request.method;
  instance_ = request.path();
  head_only_ = request.method == "HEAD";
  version_ = request.version;
  if (is_trace(request.header("traceparent"))) trace_ = request.header("traceparent");
  admission_ = common_.site.admit(request);
  path_ = admission_.path;
  if (admission_.known && !known_ && !(known_ = common_.take_in(*this))) {
    refuse(Error(ErrorCode::BUSY, "there are too many connections"), true);
    return false;
  }
  const std::string_view expect = request.header("expect");
  if (!admission_.refused && !expect.empty() && !same_name(expect, "100-continue"))
    admission_.refused = Problem(417, Error(ErrorCode::USAGE, "the only expectation that is met is 100-continue"));
  if (admission_.refused && request.has_body) {
    const bool small = request.content_length && *request.content_length <= kSwallow && expect.empty();
    if (!small) {
      refuse(*admission_.refused, true);
      return false;
    }
    parser_.limit_body(kSwallow);
    return true;
  }
  parser_.limit_body(admission_.most_body);
  if (parser_.state() == Parser::State::failed) {
    refuse(parser_.problem(), true);
    return false;
  }
  if (!expect.empty() && parser_.state() == Parser::State::body && taken_ == input_.size() && version_ == 11) {
    outbox_.add("HTTP/1.1 100 Continue\r\n\r\n");
    progress_ = common_.now;
  }
  return true;
}

void Connection::dispatch() {
  Request& request = parser_.request();
  receive_what_was_read();
  close_ = close_ || !request.keep_alive;
  count_import(false);
  phase_ = Phase::working;
  deadline_ = after(common_.limits.request_ms);
  abandon_at_ = hung_up_ ? after(kHungUpMs) : kNever;
  auto exchange = std::make_shared<Exchange>(common_.mailbox, Exchange::Place{id_, serial_}, common_.limits.queue_bytes, std::move(request),
                                             std::move(admission_));
  exchange_ = exchange;
  common_.site.serve(std::move(exchange));
}

void Connection::begin_request() {
  parser_.restart();
  phase_ = Phase::head;
  ++serial_;
  admission_ = {};
  exchange_.reset();
  flow_.reset();
  head_only_ = chunked_ = event_stream_ = false;
  version_ = 11;
  status_ = 0;
  method_ = path_ = "other";
  trace_.clear();
  instance_.clear();
  first_ = false;
  if (input_.empty() && input_.capacity() > kAhead) input_ = {};
  imported_ = 0;
  added_before_ = outbox_.added();
  waiting_since_ = begun_ = common_.now;
  deadline_ = after(input_.empty() ? common_.limits.idle_ms : common_.limits.header_ms);
}

// What the client still sends is read for a while: closing at once would throw away an answer it has not read.
void Connection::begin_close() {
  if (hung_up_) return leave();
  if (answers_.empty() && parser_.state() == Parser::State::done && input_.empty()) return kill();
  ::shutdown(descriptor_, SHUT_WR);
  phase_ = Phase::lingering;
  left_at_ = common_.now;
  deadline_ = after(answers_.empty() || common_.draining ? kLingerMs : common_.limits.stalled_ms);
  input_.clear();
  taken_ = 0;
}

void Connection::refuse(const Problem& problem, bool close) {
  close_ = close_ || close;
  count_import(false);
  answer(problem.status, problem_headers(problem), problem_json(problem, instance_));
}

void Connection::displace() {
  const bool asking = phase_ == Phase::body || (phase_ == Phase::head && (first_ || !input_.empty()));
  if (!dead_ && asking) refuse(Error(ErrorCode::BUSY, "there are too many connections without a token: try again in a moment"), true);
  kill();
}

void Connection::answer(int status, const api::Headers& headers, std::string body) {
  close_ = close_ || common_.draining;
  status_ = status;
  outbox_.add(answer_head({status, body.size(), false, close_}, headers, common_.date));
  if (!head_only_ && status != 204 && status != 304) outbox_.add(std::move(body));
  phase_ = Phase::answered;
  progress_ = common_.now;
  flush();
  finish();
}

void Connection::finish() {
  common_.site.finished(
      {method_, path_, status_, static_cast<double>(common_.now - begun_) / 1000.0, outbox_.added() - added_before_, trace_});
  if (event_stream_) common_.site.event_streams(-1);
  event_stream_ = false;
}

void Connection::receive(Letter letter) {
  const bool of_request = letter.kind == Letter::Kind::answer || letter.kind == Letter::Kind::open;
  if (dead_ || (of_request && (phase_ != Phase::working || letter.serial != serial_))) {
    if (letter.flow) letter.flow->close();
    if (letter.receipt) letter.receipt->lost();
    return;
  }
  if (!of_request && (phase_ != Phase::streaming || letter.flow != flow_)) {
    if (letter.receipt) letter.receipt->lost();
    return;
  }
  switch (letter.kind) {
    case Letter::Kind::answer:
      if (const auto too_much = no_room(letter.body.size())) {
        if (letter.receipt) letter.receipt->lost();
        refuse(*too_much, false);
        break;
      }
      answered(std::move(letter.receipt));
      answer(letter.status, letter.headers, std::move(letter.body));
      break;
    case Letter::Kind::open:
      open_stream(letter);
      break;
    case Letter::Kind::bytes:
      if (outbox_.empty()) progress_ = common_.now;
      outbox_.add_part(letter, chunked_);
      comment_at_ = after(common_.limits.keep_alive_ms);
      break;
    case Letter::Kind::end:
      answered(std::move(letter.receipt));
      end_stream();
      break;
    case Letter::Kind::cut:
      flush();
      return kill();
  }
  pump();
}

// Why an answer of that size is not sent: it would be too large for any client, or is one too many now.
std::optional<Error> Connection::no_room(std::size_t bytes) const {
  const Limits& limits = common_.limits;
  if (bytes > limits.unsent_bytes) {
    Error over = over_limit("bytes of an answer", limits.unsent_bytes, bytes);
    const std::string why = over.message();
    return std::move(over).with_message(why +
                                        ": ask for less, with `limit` and `cursor` or `offset`, with `show` or `nodes`, or `at` an entry");
  }
  if (common_.unsent + bytes > limits.unsent_bytes && bytes > limits.queue_bytes)
    return Error(ErrorCode::BUSY, "too much is waiting for clients that do not read");
  return std::nullopt;
}

void Connection::open_stream(Letter& letter) {
  close_ = close_ || common_.draining || version_ == 10;
  status_ = letter.status;
  chunked_ = version_ == 11;
  flow_ = letter.flow;
  outbox_.add(answer_head({letter.status, std::nullopt, chunked_, close_}, letter.headers, common_.date));
  progress_ = common_.now;
  const bool events = is_event_stream(letter.headers);
  if (head_only_ || (hung_up_ && events)) {
    flow_->close();
    phase_ = Phase::answered;
    return finish();
  }
  phase_ = Phase::streaming;
  event_stream_ = events;
  if (events) common_.site.event_streams(1);
  comment_at_ = after(common_.limits.keep_alive_ms);
}

void Connection::end_stream() {
  if (chunked_) outbox_.add("0\r\n\r\n");
  flow_->close();
  close_ = close_ || !chunked_ || common_.draining;
  phase_ = Phase::answered;
  finish();
}

bool Connection::slow() const {
  const bool asking = phase_ == Phase::body || (phase_ == Phase::head && (first_ || !input_.empty()));
  if (asking) return common_.now - waiting_since_ >= common_.limits.slow_ms;
  return phase_ == Phase::lingering || (!outbox_.empty() && common_.now - progress_ >= common_.limits.slow_ms);
}

Tick Connection::deadline() const {
  Tick out = phase_ == Phase::streaming || phase_ == Phase::answered ? kNever : deadline_;
  if (phase_ == Phase::working) out = std::min(out, abandon_at_);
  if (!outbox_.empty()) out = std::min(out, progress_ + common_.limits.stalled_ms);
  if (phase_ == Phase::streaming && event_stream_) out = std::min(out, comment_at_);
  return out;
}

void Connection::tick() {
  if (dead_ || common_.now < deadline()) return;
  if (!outbox_.empty() && common_.now >= progress_ + common_.limits.stalled_ms) return kill();
  if (phase_ == Phase::streaming) {
    Letter comment{Letter::Kind::bytes, id_, 0, flow_, 0, {}, ":\n\n", nullptr};
    flow_->add(comment.body.size());
    return receive(std::move(comment));
  }
  if (phase_ == Phase::lingering && hung_up_) return leave();
  if (phase_ == Phase::lingering || (phase_ == Phase::head && input_.empty())) return kill();
  if (phase_ == Phase::working) {
    const auto exchange = exchange_.lock();
    if (common_.now >= abandon_at_) {
      abandon_at_ = kNever;
      if (exchange) exchange->abandon();
      if (common_.now < deadline_) return;
    }
    if (exchange && !exchange->expire()) {
      deadline_ = after(common_.limits.stalled_ms);  // its answer is on the way
      return;
    }
    if (exchange) exchange->abandon();
    refuse(Error(ErrorCode::TIMEOUT, "the request took too long").with("limit_ms", std::int64_t{common_.limits.request_ms}), false);
  } else {
    refuse(Problem(408, Error(ErrorCode::TIMEOUT, "the request did not arrive in time")), true);
  }
  pump();
}

}  // namespace weir::http
