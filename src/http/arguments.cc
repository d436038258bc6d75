#include "http/arguments.h"

#include <algorithm>

#include "base/utf8.h"

namespace weir::http {
namespace {

using json::Value;

const api::Parameter* find_parameter(const api::Operation& operation, std::string_view name) {
  const auto& all = operation.parameters;
  const auto found = std::find_if(all.begin(), all.end(), [&](const api::Parameter& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

bool has_condition(const api::Call& call, const Exchange& exchange) {
  return exchange.request().has("if-match") && find_parameter(call.operation, "expect") != nullptr;
}

}  // namespace

Result<Value> Arguments::read(api::Call& call, Exchange& exchange) {
  json::ObjectBuilder out(call.arena);
  TRY_DO(add_texts(call, exchange.admission().match.arguments, out));
  TRY_DO(add_texts(call, exchange.admission().query, out));
  TRY_DO(add_body(call, exchange, out));
  TRY_DO(add_condition(call, exchange, out));
  const Value arguments = out.build();
  if (errors_.empty()) return arguments;
  // All that is wrong is told at once, also what only the operation knows.
  if (const auto taken = call.take(arguments); !taken.ok())
    for (const FieldError& error : taken.error().fields()) errors_.add(error.path, error.message);
  return errors_.result().error();
}

Result<void> Arguments::add_texts(api::Call& call, const Parameters& texts, json::ObjectBuilder& out) {
  for (const auto& [name, text] : texts) {
    const api::Parameter* parameter = find_parameter(call.operation, name);
    if (!valid_utf8(text)) {
      errors_.add(json::pointer("", name), "is not UTF-8");
    } else {
      said_.push_back({call.arena.copy(name), parameter == nullptr ? Value(call.arena.copy(text)) : call.from_text(*parameter, text)});
      out.add(said_.back().key, said_.back().value);
    }
  }
  return {};
}

const Value* Arguments::said_before(std::string_view name) const {
  for (const json::Member& member : said_)
    if (member.key == name) return &member.value;
  return nullptr;
}

Result<void> Arguments::add_body(api::Call& call, Exchange& exchange, json::ObjectBuilder& out) {
  if (call.operation.method != "POST" && call.operation.method != "PUT") return {};
  if (call.operation.takes != api::Takes::json) {
    call.body = exchange.take_body();
    call.body_name = "the body";
    return {};
  }
  if (exchange.body().empty()) return {};
  TRY(const Value body, parser_.parse(exchange.body()));
  if (!body.is_object()) {
    errors_.add("", "is an object, not " + std::string(json::kind_name(body)));
    return {};
  }
  for (const json::Member& member : body.members()) {
    if (member.key == "expect" && has_condition(call, exchange)) {
      errors_.add("/expect", "stands in If-Match already");
    } else if (const Value* said = said_before(member.key)) {
      if (!(*said == member.value)) errors_.add(json::pointer("", member.key), "differs from what the address of the request says");
    } else {
      out.add(member.key, member.value);
    }
  }
  return {};
}

// If-Match of a head holds the entry it is expected to stand at.
Result<void> Arguments::add_condition(api::Call& call, const Exchange& exchange, json::ObjectBuilder& out) {
  if (!has_condition(call, exchange)) return {};
  const std::string_view tag = exchange.request().header("if-match");
  const bool quoted = tag.size() >= 2 && tag.front() == '"' && tag.back() == '"';
  if (!quoted || tag.find('"', 1) != tag.size() - 1 || !valid_utf8(tag)) {
    errors_.add("/If-Match", "is one entry's id in quotes");
    return {};
  }
  conditional_ = true;
  out.add("expect", Value(call.arena.copy(tag.substr(1, tag.size() - 2))));
  return {};
}

}  // namespace weir::http
