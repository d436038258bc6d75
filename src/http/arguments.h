// What a request says, as the one object an operation takes: from its path, its query, its body and If-Match.
#pragma once

#include <string_view>
#include <vector>

#include "api/call.h"
#include "http/exchange.h"

namespace weir::http {

class Arguments {
 public:
  // INVALID_JSON, INVALID_FIELD. What is answered lives as long as this and the call.
  Result<json::Value> read(api::Call& call, Exchange& exchange);

  // Was a head's place asked for by If-Match? Then a conflict is 412.
  bool conditional() const { return conditional_; }

 private:
  Result<void> add_texts(api::Call& call, const Parameters& texts, json::ObjectBuilder& out);
  Result<void> add_body(api::Call& call, Exchange& exchange, json::ObjectBuilder& out);
  Result<void> add_condition(api::Call& call, const Exchange& exchange, json::ObjectBuilder& out);

  const json::Value* said_before(std::string_view name) const;

  std::vector<json::Member> said_;  // in path and query
  json::Parser parser_;
  json::FieldErrors errors_;
  bool conditional_ = false;
};

}  // namespace weir::http
