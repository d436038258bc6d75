#include "http/admit.h"

#include <algorithm>

#include "http/text.h"

namespace weir::http {
namespace {

constexpr std::string_view kJson = "application/json", kLines = "application/x-ndjson", kEvents = "text/event-stream";

Problem denied(std::string message) { return Error(ErrorCode::DENIED, std::move(message)); }

std::optional<Problem> check_names(const Request& request, const Guests& guests) {
  if (!host_allowed(request.header("host"), guests))
    return denied("this Host is not served here; http.allow_hosts in the configuration allows it");
  if (request.has("origin") && !origin_allowed(request.header("origin"), guests)) return denied("this Origin may not ask here");
  return std::nullopt;
}

bool is_health(std::string_view path) { return path == "/healthz" || path == "/readyz"; }

std::optional<Problem> check_token(const Request& request, const Guests& guests, Admission& out) {
  const Right right = right_of(request.header("authorization"), guests);
  out.known = right != Right::none;
  if (!out.known) {
    if (is_health(request.path())) return std::nullopt;
    Problem problem = Error(ErrorCode::UNAUTHENTICATED,
                            "this server asks for its token: Authorization: Bearer TOKEN ('weir token show' prints it; one rotated since "
                            "the server started counts after a restart)");
    problem.headers.emplace_back("WWW-Authenticate", "Bearer");
    return problem;
  }
  out.may_write = right == Right::full;
  out.client = !guests.token ? "open" : right == Right::full ? "full" : "read";
  return std::nullopt;
}

bool may_only_look(const api::Operation& operation) {
  return std::any_of(operation.parameters.begin(), operation.parameters.end(),
                     [](const api::Parameter& one) { return one.name == "dry_run" || one.name == "record" || one.name == "at"; });
}

std::optional<Problem> check_route(const Router::Found& found, const Admission& admission) {
  if (found.allow.empty()) return Problem(Error(ErrorCode::NOT_FOUND, "there is nothing at this path"));
  if (!found.match) {
    Problem problem(405, Error(ErrorCode::USAGE, "this path takes " + found.allow).with("allow", found.allow));
    problem.headers.emplace_back("Allow", found.allow);
    return problem;
  }
  // Those that may also only look are asked for their arguments first.
  const api::Operation* operation = found.match->route->operation;
  if (operation != nullptr && operation->writes && !may_only_look(*operation) && !admission.may_write)
    return Problem(Error(ErrorCode::DENIED, "this token only reads").with("operation", std::string(operation->id)));
  return std::nullopt;
}

std::optional<Problem> check_content(const Request& request, const Route& route) {
  const auto unsupported = [](std::string message) { return Problem(Error(ErrorCode::UNSUPPORTED_FORMAT, std::move(message))); };
  if (request.has("content-encoding")) return unsupported("a body is taken as it is, without Content-Encoding");
  if (request.method == "POST" || request.method == "PUT") {
    const bool lines = route.operation != nullptr && route.operation->takes == api::Takes::lines;
    const std::string_view wanted = lines ? kLines : kJson;
    if (!is_media_type(request.header("content-type"), wanted)) return unsupported("the Content-Type here is " + std::string(wanted));
  } else if (request.has_body) {
    return Problem(Error(ErrorCode::USAGE, request.method + " takes no body"));
  }
  return std::nullopt;
}

std::string_view answered_type(const Route& route) {
  switch (route.target) {
    case Target::operation:
      return media_type(route.operation->answers);
    case Target::events:
      return kEvents;
    case Target::health:
    case Target::metrics:
      return "text/plain";
    case Target::ready:
    case Target::openapi:
      return kJson;
    case Target::mcp:
      return {};  // its own rules
  }
  return {};
}

bool known_parameter(const Route& route, std::string_view name) {
  if (route.target == Target::mcp) return true;
  if (route.target == Target::events) return name == "types" || name == "payload";
  if (route.operation == nullptr) return false;
  return std::any_of(route.operation->parameters.begin(), route.operation->parameters.end(),
                     [&](const api::Parameter& one) { return one.in == api::In::query && one.name == name; });
}

std::optional<Problem> check_query(const Request& request, const Route& route, Parameters& out) {
  auto query = parse_query(request.query());
  if (!query.ok()) return Problem(query.error());
  for (const auto& [name, value] : *query)
    if (!known_parameter(route, name))
      return Problem(Error(ErrorCode::USAGE, "unknown query parameter '" + name + "'").with("parameter", name));
  out = std::move(query).value();
  return std::nullopt;
}

std::size_t body_limit(const Request& request, const Route& route, const Limits& limits) {
  if (request.method != "POST" && request.method != "PUT") return 0;
  return route.operation != nullptr && route.operation->long_body ? limits.import_bytes : limits.body_bytes;
}

}  // namespace

std::string_view media_type(api::Answers answers) {
  switch (answers) {
    case api::Answers::json:
      return kJson;
    case api::Answers::lines:
      return kLines;
    case api::Answers::markdown:
      return "text/markdown";
    case api::Answers::bytes:
      return "application/octet-stream";
    default:
      return {};
  }
}

Admission admit(const Request& request, const Entrance& entrance) {
  Admission out;
  const auto refused = [&]() -> std::optional<Problem> {
    if (auto wrong = check_names(request, entrance.guests)) return wrong;
    Router::Found found = entrance.router.find(request.method, request.path());
    if (!found.allow.empty()) out.path = found.path;
    if (auto wrong = check_token(request, entrance.guests, out)) return wrong;
    if (auto wrong = check_route(found, out)) return wrong;
    const Route& route = *found.match->route;
    if (auto wrong = check_content(request, route)) return wrong;
    const std::string_view type = answered_type(route);
    if (!type.empty() && !accepts(request.header("accept"), type))
      return Problem(406, Error(ErrorCode::UNSUPPORTED_FORMAT, "what is here is " + std::string(type)).with("type", std::string(type)));
    if (auto wrong = check_query(request, route, out.query)) return wrong;
    out.match = std::move(*found.match);
    out.most_body = body_limit(request, route, entrance.limits);
    return std::nullopt;
  };
  out.refused = refused();
  return out;
}

}  // namespace weir::http
