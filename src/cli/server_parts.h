// What `serve` and `mcp` are made of besides their servers, and how both shut themselves in.
#pragma once

#include <memory>
#include <string>

#include "api/call.h"
#include "api/journal.h"
#include "base/sandbox.h"
#include "cli/run.h"
#include "service/feed.h"

namespace weir::cli {

struct ServerKind {
  bool conformance = false;  // an empty store in memory
  bool read_only = false;    // the store is there already and stays as it is
  bool files = true;         // the working directory may be read unless roots are named
  bool research = false;     // research runs can be asked for, which have directories
  std::string socket;        // of a listener that is a file; empty: none
  bool listens = false;      // there is a listener
};

struct ServerParts {
  const Config* config = nullptr;
  std::unique_ptr<Service> memory;  // of a conformance server
  Service* service = nullptr;
  std::unique_ptr<ReadSource> source;
  std::unique_ptr<api::Journal> journal;
  std::unique_ptr<Feed> feed;
  std::unique_ptr<api::World> world;
  SandboxFiles sandbox;  // the files it needs from now on
};
// USAGE: --conformance with a store.
Result<ServerParts> open_server_parts(Run& run, const ServerKind& kind);

// To be called before there is a second thread, and the other once nothing is to be bound any more.
Result<void> confine_server_files(ServerParts& parts);
Result<void> confine_server_calls(ServerParts& parts);

constexpr std::size_t kServerThreads = 8;

}  // namespace weir::cli
