// The Model Context Protocol: one core for both transports and all revisions. What a request may ask stands in tables
// (methods, tools, resources, prompts); what it means is the service's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/call.h"
#include "api/journal.h"
#include "api/stream.h"
#include "api/workers.h"
#include "base/ids.h"

namespace weir::mcp {

inline constexpr std::size_t kMostInBatch = 100;

struct Options {
  std::optional<SessionId> session;  // of calls that name none
  std::optional<HeadName> head;
  bool host = false;         // weir/<operation> is answered; over stdio only
  bool conformance = false;  // the fixtures of the public suite are served too
  // Counts a request: era, method (of a closed list), result (ok, error).
  std::function<void(std::string_view era, std::string_view method, std::string_view result)> counted;
};

class Core;
class Endpoint;

class Server {
 public:
  Server(api::World& world, api::Lanes& lanes, api::Journal& journal, Options options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Lines of JSON from one descriptor, answers to the other, until the input ends or `stop` says so. Both ways what is under
  // way is cancelled or finished, and written out.
  Result<void> serve_lines(int in, int out, const std::function<bool()>& stop);

  // One request to /mcp: POST, GET or DELETE, its token and origin checked. Answers now or later, from any thread.
  void serve(std::shared_ptr<api::Exchange> exchange);

  // Every stream that listens gets its result and ends; nothing new is begun.
  void shut_down();

 private:
  std::unique_ptr<Core> core_;
  std::unique_ptr<Endpoint> endpoint_;
};

}  // namespace weir::mcp
