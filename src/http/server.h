// Weir over HTTP/1.1: one thread owns every connection, others answer. Doors (Host, Origin, token), limits and timeouts
// stand before anything is allocated or asked.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/call.h"
#include "api/journal.h"
#include "api/workers.h"
#include "http/limits.h"
#include "mcp/server.h"

namespace weir::http {

struct Options {
  std::string listen = "127.0.0.1:7717";  // or unix:PATH
  std::vector<std::string> allow_hosts, allow_origins;
  std::optional<std::string> token, read_token;  // no token: none is asked for (conformance only)
  std::string version = "0";                     // of the program
  Limits limits;
};

class Server {
 public:
  // Binds. STORE_UNUSABLE for an address that cannot be had.
  static Result<std::unique_ptr<Server>> open(api::World& world, api::Lanes& lanes, mcp::Server& mcp, api::Journal& journal,
                                              Options options);
  virtual ~Server() = default;

  virtual std::string url() const = 0;  // http://127.0.0.1:7717, with the port that was bound
  // Serves until `signal` answers one, is asked at least every 100 ms and woken by EINTR; then drains: /readyz says so, no
  // connection is taken, requests under way get their time, streams are told. Another number is a second signal, which ends at
  // once; the same one again is not.
  virtual Result<void> run(const std::function<int()>& signal) = 0;

  // For mcp::Options::counted.
  virtual void count_mcp(std::string_view era, std::string_view method, std::string_view result) = 0;
};

}  // namespace weir::http
