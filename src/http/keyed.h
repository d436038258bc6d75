// What an Idempotency-Key means for a request: what it is compared by, and names that make doing it twice the same as once.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

#include "api/call.h"
#include "api/journal.h"
#include "base/result.h"
#include "base/secrets.h"
#include "base/sha256.h"
#include "http/exchange.h"
#include "json/value.h"
#include "service/answers.h"

namespace weir::http {

inline constexpr std::size_t kMostKept = 4 << 20;  // of an answer that is kept for its key
inline constexpr std::string_view kReplayed = "Idempotency-Replayed";

bool is_keyed(const Exchange& exchange);  // does the request carry one?
// 1 to 128 visible characters of ASCII; else INVALID_FIELD.
Result<void> check_key(std::string_view key);

// The answers that a server keeps for keys.
class KeyedAnswers {
 public:
  KeyedAnswers(api::World& world, api::Journal& journal) : world_(world), journal_(journal) {}

  // False: the exchange is answered, with an error or what is kept. True: the answer is to be found, and kept if there is a turn;
  // there is none where the same request came before, and is decided anew.
  bool begin(Exchange& exchange, std::optional<Answers::Turn>& turn);
  // The same for one call of a batch, which has the key for itself: what is kept of it, its turn, or neither.
  Result<Answers::Begun> begin_part(const Exchange& exchange, std::size_t place);
  // Ends the turn, and then the answer may leave: who has it may ask again at once. `session`: of which the answer speaks; it goes
  // when that is purged. One that is too long or holds a secret is not kept.
  void keep(std::optional<Answers::Turn>& held, std::string_view session, const KeptAnswer& answer);
  // The same where no answer may be said again: the key stays this request's, and the next time it is decided anew.
  void remember(std::optional<Answers::Turn>& held, std::string_view session);
  // The session was purged. The service has done it for a store on disk.
  void forget(const SessionId& session);

 private:
  Result<Answers::Begun> look(std::string_view key, const Exchange& exchange);
  Result<Answers*> answers();

  api::World& world_;
  api::Journal& journal_;
  std::mutex mutex_;
  std::unique_ptr<Answers> answers_;  // opened when the first key comes
};

// Of method, path, query, body and token.
Digest request_digest(const Exchange& exchange);

// The arguments of an operation with names for what it makes, where the caller gave none: the entries of an append, the
// record of a read, a session. They follow from key, request and place: should the answer be lost with the process, the same
// request finds them there.
json::Value name_work(std::string_view operation, const json::Value& arguments, std::string_view key, const Digest& request,
                      json::Arena& arena);

}  // namespace weir::http
