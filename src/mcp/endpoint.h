// MCP over HTTP: /mcp, both eras. Modern requests stand for themselves; legacy ones belong to a session that `initialize` made.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "api/stream.h"
#include "mcp/core.h"

namespace weir::mcp {

class Endpoint {
 public:
  explicit Endpoint(Core& core) : core_(core) {}
  ~Endpoint();

  void serve(const std::shared_ptr<api::Exchange>& exchange);
  void shut_down();

 private:
  struct Session;
  void post(const std::shared_ptr<api::Exchange>& exchange);
  void post_legacy(const std::shared_ptr<api::Exchange>& exchange, const std::shared_ptr<json::Parser>& parser, const json::Value& message);
  void open_stream(const std::shared_ptr<api::Exchange>& exchange);
  void end_session(const std::shared_ptr<api::Exchange>& exchange);
  // The session a request names, or nothing: then it is answered.
  std::shared_ptr<Session> session_of(const std::shared_ptr<api::Exchange>& exchange);
  std::shared_ptr<Session> new_session(const std::string& client);
  void drop(const std::string& id);

  Core& core_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Session>, std::less<>> sessions_;
  std::uint64_t uses_ = 0;
};

}  // namespace weir::mcp
