#include "http/router.h"

#include <algorithm>

#include "http/text.h"

namespace weir::http {
namespace {

struct Alias {
  std::string_view method, path, of_method, of_path;  // of_path: {} is any parameter
  std::string_view name = {}, value = {};             // an argument it gives
};
constexpr Alias kAliases[] = {
    {"GET", "/sessions/{session}/ctrees", "GET", "/sessions/{}/ctrees"},
    {"GET", "/sessions/{session}/ctrees/tree", "GET", "/sessions/{}/ctrees/tree"},
    {"GET", "/sessions/{session}/ctrees/events", "GET", "/sessions/{}/ctrees/events"},
    {"GET", "/sessions/{session}/readcache-status", "GET", "/sessions/{}/reads"},
    {"POST", "/sessions/{session}/readcache-refresh", "POST", "/sessions/{}/refresh"},
    {"POST", "/sessions/{session}/tree", "PUT", "/sessions/{}/heads/{}", "head", "main"},
};

struct Own {
  std::string_view method, path;
  Target target;
};
constexpr Own kOwn[] = {
    {"GET", "/v1/sessions/{session}/events", Target::events},
    {"POST", "/mcp", Target::mcp},
    {"GET", "/mcp", Target::mcp},
    {"DELETE", "/mcp", Target::mcp},
    {"GET", "/healthz", Target::health},
    {"GET", "/readyz", Target::ready},
    {"GET", "/metrics", Target::metrics},
    {"GET", "/openapi.json", Target::openapi},
};

bool is_parameter(std::string_view part) { return part.size() > 2 && part.front() == '{' && part.back() == '}'; }

std::string without_names(std::string_view path) {
  std::string out;
  for (const std::string_view part : split(path.substr(1), '/')) out += is_parameter(part) ? "/{}" : "/" + std::string(part);
  return out;
}

// How many parts are literal; more of them win over fewer.
std::optional<std::size_t> fits(const Route& route, const std::vector<std::string_view>& parts) {
  if (route.parts.size() != parts.size()) return std::nullopt;
  std::size_t literal = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (route.parts[i] == parts[i]) {
      ++literal;
    } else if (!is_parameter(route.parts[i]) || parts[i].empty()) {
      return std::nullopt;
    }
  }
  return literal;
}

// GET of /mcp is no reading: it opens a stream.
bool takes_head(const Route& route) { return route.method == "GET" && route.target != Target::mcp; }

bool takes(const Route& route, std::string_view method) { return route.method == method || (method == "HEAD" && takes_head(route)); }

void add_method(std::string& allow, const Route& route) {
  if (!allow.empty()) allow += ", ";
  allow += route.method;
  if (takes_head(route)) allow += ", HEAD";
}

}  // namespace

Router::Router(std::span<const api::Operation> operations) {
  for (const Own& own : kOwn) add(std::string(own.method), std::string(own.path), own.target);
  for (const api::Operation& operation : operations) {
    const std::string path = "/v1" + std::string(operation.path);
    const auto own = std::find_if(routes_.begin(), routes_.end(), [&](const Route& one) {
      return one.method == operation.method && without_names(one.path) == without_names(path);
    });
    if (own != routes_.end()) {
      own->operation = &operation;  // described there, answered here
    } else {
      add(std::string(operation.method), path, Target::operation, &operation);
    }
    for (const Alias& alias : kAliases) {
      if (alias.of_method != operation.method || alias.of_path != without_names(operation.path)) continue;
      std::vector<std::pair<std::string, std::string>> fixed;
      if (!alias.name.empty()) fixed.emplace_back(alias.name, alias.value);
      add(std::string(alias.method), std::string(alias.path), Target::operation, &operation, std::move(fixed));
    }
  }
}

void Router::add(std::string method, std::string path, Target target, const api::Operation* operation,
                 std::vector<std::pair<std::string, std::string>> fixed) {
  Route route{std::move(method), std::move(path), target, operation, std::move(fixed), {}};
  for (const std::string_view part : split(std::string_view(route.path).substr(1), '/')) route.parts.emplace_back(part);
  routes_.push_back(std::move(route));
}

Router::Found Router::find(std::string_view method, std::string_view path) const {
  Found found;
  if (!path.starts_with('/')) return found;
  const auto parts = split(path.substr(1), '/');
  const Route* best = nullptr;
  std::size_t closest = 0;
  for (const Route& route : routes_) {
    const auto literal = fits(route, parts);
    if (!literal || *literal < closest) continue;
    if (*literal > closest || found.allow.empty()) {
      closest = *literal;
      best = nullptr;
      found.allow.clear();
      found.path = route.path;
    }
    add_method(found.allow, route);
    if (takes(route, method)) best = &route;
  }
  if (best == nullptr) return found;
  Match match{best, best->fixed};
  found.path = best->path;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string& name = best->parts[i];
    if (!is_parameter(name)) continue;
    auto value = percent_decoded(parts[i], false);
    if (!value) return {};  // what cannot be decoded names nothing
    match.arguments.emplace_back(name.substr(1, name.size() - 2), std::move(*value));
  }
  found.match = std::move(match);
  return found;
}

Result<Parameters> parse_query(std::string_view query) {
  Parameters out;
  if (query.empty()) return out;
  for (const std::string_view part : split(query, '&')) {
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    auto name = percent_decoded(part.substr(0, equals), true);
    auto value = equals == std::string_view::npos ? std::string() : percent_decoded(part.substr(equals + 1), true);
    if (!name || !value) return Error(ErrorCode::USAGE, "the query holds a wrong escape");
    for (const auto& [known, text] : out)
      if (known == *name) return Error(ErrorCode::USAGE, "the query parameter '" + *name + "' stands twice").with("parameter", *name);
    out.emplace_back(std::move(*name), std::move(*value));
  }
  return out;
}

}  // namespace weir::http
