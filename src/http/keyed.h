// What an Idempotency-Key means for a request: what it is compared by, and names that make doing it twice the same as once.
#pragma once

#include <string_view>

#include "base/result.h"
#include "base/secrets.h"
#include "base/sha256.h"
#include "http/exchange.h"
#include "json/value.h"

namespace weir::http {

// 1 to 128 visible characters of ASCII; else INVALID_FIELD.
Result<void> check_key(std::string_view key);

// Of method, path, query, body and token.
Digest request_digest(const Exchange& exchange);

// The arguments of an operation with names for what it makes, where the caller gave none: the entries of an append, the
// record of a read, a session. They follow from key, request and place: should the answer be lost with the process, the same
// request finds them there.
json::Value name_work(std::string_view operation, const json::Value& arguments, std::string_view key, const Digest& request,
                      json::Arena& arena);

// Does the text of an answer (JSON, or lines of it) hold what is masked wherever it is stored?
bool holds_secret(std::string_view text, const Masker& masker);

}  // namespace weir::http
