// Requests under /v1: one operation each, called in a worker's thread and answered as HTTP says.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "api/call.h"
#include "api/journal.h"
#include "http/exchange.h"
#include "http/limits.h"
#include "service/answers.h"

namespace weir::http {

class Operations {
 public:
  Operations(api::World& world, const Limits& limits, api::Journal& journal) : world_(world), limits_(limits), journal_(journal) {}

  // Runs the operation and answers. Waits for the store, and for a client that takes lines slowly.
  void run(Exchange& exchange);

 private:
  struct Done;
  void run_keyed(Exchange& exchange);
  void run_once(Exchange& exchange, std::optional<Answers::Turn> turn);
  void keep(Exchange& exchange, std::optional<Answers::Turn>& turn, const Done& done);
  Result<Answers*> answers();
  void forget_session(const Exchange& exchange);

  api::World& world_;
  const Limits& limits_;
  api::Journal& journal_;
  std::mutex mutex_;
  std::unique_ptr<Answers> answers_;  // opened when the first key comes
};

}  // namespace weir::http
