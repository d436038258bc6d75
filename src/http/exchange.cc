#include "http/exchange.h"

#include "http/text.h"

namespace weir::http {

Exchange::Exchange(std::shared_ptr<Mailbox> mailbox, Place place, std::size_t queue_bytes, Request request, Admission admission)
    : mailbox_(std::move(mailbox)),
      place_(place),
      queue_bytes_(queue_bytes),
      request_(std::move(request)),
      admission_(std::move(admission)) {}

// Whoever forgets to answer leaves a client waiting: better a plain 500. With nobody waiting it is no error.
Exchange::~Exchange() {
  const int status = gone() ? info(ErrorCode::CANCELLED).http : 500;
  if (claim()) mailbox_->post({Letter::Kind::answer, place_.connection, place_.serial, nullptr, status, {}, {}, nullptr, nullptr});
}

bool Exchange::commit() {
  State seen = State::open;
  return state_.compare_exchange_strong(seen, State::committed) || seen == State::committed;
}

bool Exchange::expire() {
  State seen = State::open;
  return state_.compare_exchange_strong(seen, State::claimed);
}

std::string_view Exchange::header(std::string_view name) const {
  for (const auto& [key, value] : request_.headers)
    if (same_name(key, name)) return value;
  return {};
}

void Exchange::answer(int status, api::Headers headers, std::string body, ReceiptPtr receipt) {
  if (!claim()) {
    if (receipt) receipt->lost();
    return;
  }
  mailbox_->post({Letter::Kind::answer, place_.connection, place_.serial, nullptr, status, std::move(headers), std::move(body), nullptr,
                  std::move(receipt)});
}

void Exchange::answer(const Problem& problem) { answer(problem.status, problem_headers(problem), problem_json(problem, request_.path())); }

std::shared_ptr<Stream> Exchange::open_stream(int status, api::Headers headers) {
  auto flow = std::make_shared<Flow>(place_.connection, queue_bytes_);
  auto out = std::make_shared<Stream>(mailbox_, flow);
  if (claim()) {
    mailbox_->post({Letter::Kind::open, place_.connection, place_.serial, flow, status, std::move(headers), {}, nullptr});
  } else {
    flow->close();
  }
  return out;
}

}  // namespace weir::http
