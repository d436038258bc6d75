#include "service/answers_in_flight.h"

namespace weir {
namespace {

constexpr std::size_t kMost = 64;  // of either kind: whoever asks that often without going on is not waited for

}  // namespace

AnswersInFlight::~AnswersInFlight() {
  for (const Answer& answer : sent_) answer.receipt->lost();
}

void AnswersInFlight::add(ReceiptPtr receipt) {
  if (receipt == nullptr) return;
  if (sent_.size() == kMost) {
    sent_.front().receipt->lost();
    sent_.pop_front();
  }
  sent_.push_back({++last_, std::move(receipt)});
}

void AnswersInFlight::receive_until(std::uint64_t number) {
  for (; !sent_.empty() && sent_.front().number <= number; sent_.pop_front()) {
    sent_.front().receipt->received();
    if (received_.size() == kMost) received_.pop_front();
    received_.push_back(std::move(sent_.front()));
  }
}

void AnswersInFlight::lose_all() {
  for (auto* const answers : {&sent_, &received_}) {
    for (const Answer& answer : *answers) answer.receipt->lost();
    answers->clear();
  }
}

}  // namespace weir
