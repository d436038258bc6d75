#include "mcp/server.h"

#include "mcp/core.h"
#include "mcp/endpoint.h"
#include "mcp/stdio.h"

namespace weir::mcp {

Server::Server(api::World& world, api::Lanes& lanes, api::Journal& journal, Options options)
    : core_(std::make_unique<Core>(world, lanes, journal, std::move(options))), endpoint_(std::make_unique<Endpoint>(*core_)) {}
Server::~Server() = default;

Result<void> Server::serve_lines(int in, int out, const std::function<bool()>& stop) { return mcp::serve_lines(*core_, in, out, stop); }

void Server::serve(std::shared_ptr<api::Exchange> exchange) { endpoint_->serve(exchange); }

void Server::shut_down() {
  core_->shut_down();
  endpoint_->shut_down();
}

}  // namespace weir::mcp
