// The answers that one client was sent, as far as they prove something, until it is known that it has them: when it goes on to its
// next request, or leaves in good order, having taken all. Calls from one thread at a time.
#pragma once

#include <cstdint>
#include <deque>

#include "service/receipt.h"

namespace weir {

class AnswersInFlight {
 public:
  AnswersInFlight() = default;
  // Of what is in flight still, nobody will hear any more.
  ~AnswersInFlight();
  AnswersInFlight(const AnswersInFlight&) = delete;
  AnswersInFlight& operator=(const AnswersInFlight&) = delete;

  // One more, sent whole. Null is no answer.
  void add(ReceiptPtr receipt);
  bool empty() const { return sent_.empty(); }

  // A number for the last one that was sent so far.
  std::uint64_t last() const { return last_; }
  // The client has gone on: it has what it was sent before, all of it or as far as that number.
  void receive_all() { receive_until(last_); }
  void receive_until(std::uint64_t number);
  // It has not read what it was sent last, and who knows since when.
  void lose_all();

 private:
  struct Answer {
    std::uint64_t number;
    ReceiptPtr receipt;
  };
  std::uint64_t last_ = 0;
  std::deque<Answer> sent_, received_;  // the last few
};

}  // namespace weir
