// Requests under /v1: one operation each, called in a worker's thread and answered as HTTP says.
#pragma once

#include <optional>

#include "api/call.h"
#include "http/exchange.h"
#include "http/keyed.h"
#include "http/limits.h"

namespace weir::http {

class Operations {
 public:
  Operations(api::World& world, const Limits& limits, KeyedAnswers& keyed) : world_(world), limits_(limits), keyed_(keyed) {}

  // Runs the operation and answers. Waits for the store, and for a client that takes lines slowly.
  void run(Exchange& exchange);

 private:
  void run_once(Exchange& exchange, std::optional<Answers::Turn> turn);
  void forget_session(const api::Call& call);

  api::World& world_;
  const Limits& limits_;
  KeyedAnswers& keyed_;
};

}  // namespace weir::http
