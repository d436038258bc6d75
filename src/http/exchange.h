// One request and its answer, between the loop and whoever answers. What is done to it from other threads becomes a letter.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/stream.h"
#include "http/mailbox.h"
#include "http/problem.h"
#include "http/request.h"
#include "http/router.h"

namespace weir::http {

// What the doors and the router found out about a request.
struct Admission {
  std::optional<Problem> refused;
  std::string path = "other";  // the route's template
  Match match;
  Parameters query;
  std::string client;  // a name for whose token it was
  bool may_write = false;
  bool known = false;  // the Host is served here and the token is right, or none is asked for
  std::size_t most_body = 0;
};

class Exchange final : public api::Exchange {
 public:
  struct Place {
    std::uint64_t connection, serial;  // which request of which connection
  };
  Exchange(std::shared_ptr<Mailbox> mailbox, Place place, std::size_t queue_bytes, Request request, Admission admission);
  ~Exchange() override;

  std::string_view method() const override { return request_.method; }
  std::string_view header(std::string_view name) const override;
  const std::string& body() const override { return request_.body; }
  const std::string& client() const override { return admission_.client; }
  bool may_write() const override { return admission_.may_write; }
  bool gone() const override { return gone_.load(std::memory_order_acquire); }
  using api::Exchange::answer;
  void answer(int status, api::Headers headers, std::string body, ReceiptPtr receipt) override;
  std::shared_ptr<api::Stream> stream(int status, api::Headers headers) override { return open_stream(status, std::move(headers)); }

  std::shared_ptr<Stream> open_stream(int status, api::Headers headers);
  void answer(const Problem& problem);
  const Request& request() const { return request_; }
  // For whoever answers, once: a long body is not held twice.
  std::string take_body() { return std::move(request_.body); }
  const Admission& admission() const { return admission_; }

  bool commit() override;
  bool committed() const { return state_.load() == State::committed; }
  // True for the first who asks: that one answers.
  bool claim() { return state_.exchange(State::claimed) != State::claimed; }
  // The same for who only wants to say that it took too long: not once something is committed.
  bool expire();
  // Nobody waits for the answer any more.
  void abandon() { gone_.store(true, std::memory_order_release); }

 private:
  const std::shared_ptr<Mailbox> mailbox_;
  const Place place_;
  const std::size_t queue_bytes_;
  Request request_;
  const Admission admission_;
  enum class State { open, committed, claimed };
  std::atomic<State> state_{State::open};
  std::atomic<bool> gone_{false};
};

}  // namespace weir::http
