// Which route a request takes: the operations under /v1, their aliases without it, and what the server answers itself.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/operation.h"
#include "http/problem.h"

namespace weir::http {

enum class Target { operation, events, mcp, health, ready, metrics, openapi };

struct Route {
  std::string method;  // GET also takes HEAD
  std::string path;    // its template: the name it has in metrics and in the journal
  Target target = Target::operation;
  const api::Operation* operation = nullptr;
  std::vector<std::pair<std::string, std::string>> fixed;  // arguments an alias gives
  std::vector<std::string> parts;                          // of the path; {name} is any
};

struct Match {
  const Route* route = nullptr;
  std::vector<std::pair<std::string, std::string>> arguments;  // from the path and fixed ones, decoded
};

class Router {
 public:
  explicit Router(std::span<const api::Operation> operations);

  struct Found {
    std::optional<Match> match;
    std::string_view path;  // the template, also where the method is wrong
    std::string allow;      // the methods the path takes; empty: there is no such path
  };
  Found find(std::string_view method, std::string_view path) const;

  std::span<const Route> routes() const { return routes_; }

 private:
  void add(std::string method, std::string path, Target target, const api::Operation* operation = nullptr,
           std::vector<std::pair<std::string, std::string>> fixed = {});
  std::vector<Route> routes_;
};

using Parameters = std::vector<std::pair<std::string, std::string>>;
// Decoded. USAGE for a wrong escape or a name that stands twice.
Result<Parameters> parse_query(std::string_view query);

}  // namespace weir::http
