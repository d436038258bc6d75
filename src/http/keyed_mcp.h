// A call of a tool that carries an Idempotency-Key: what it is answered is kept, but for what is decided anew each time. Each call
// of a batch has the key for itself. Other requests of MCP change nothing, and a key among them means nothing.
#pragma once

#include <memory>

#include "http/keyed.h"

namespace weir::http {

// The exchange for who is to answer it; null: it is answered already.
std::shared_ptr<api::Exchange> keyed_exchange(std::shared_ptr<Exchange> exchange, KeyedAnswers& answers);

}  // namespace weir::http
