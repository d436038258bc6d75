// The protocol without its transports: envelopes, eras, methods.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/workers.h"
#include "mcp/asked.h"
#include "mcp/peer.h"
#include "mcp/prompts.h"
#include "mcp/server.h"
#include "mcp/subscriptions.h"
#include "mcp/tools.h"

namespace weir::mcp {

// How one message came.
struct Arrival {
  std::shared_ptr<Peer> peer;                                // null: nobody was introduced
  std::shared_ptr<Channel> channel;                          // for the answer
  std::function<std::string_view(std::string_view)> header;  // HTTP only
  std::shared_ptr<api::Exchange> exchange = nullptr;         // of a batch over HTTP
  bool may_write = true;
  bool http() const { return header != nullptr; }
};

struct Method;

class Core {
 public:
  Core(api::World& world, api::Lanes& lanes, api::Journal& journal, Options options);

  // One message or a batch, parsed; `parser` holds it. What takes long is answered from a worker.
  void take(const std::shared_ptr<json::Parser>& parser, const json::Value& message, const Arrival& arrival);
  // Is a message of the modern era? Decided by its _meta, its method and the headers.
  static bool is_modern_message(const json::Value& message, const Arrival& arrival);

  api::World& world() { return world_; }
  api::Journal& journal() { return journal_; }
  const Options& options() const { return options_; }
  Subscriptions& subscriptions() { return subscriptions_; }
  const std::vector<ToolSpec>& tools() const { return tools_; }
  const std::vector<PromptSpec>& prompts() const { return prompts_; }

  // A peer that was introduced hears of changes; forget when it has gone.
  void introduce(const std::shared_ptr<Peer>& peer);
  void forget(const Peer& peer);
  void subscribe(const std::shared_ptr<Peer>& peer, const std::string& uri, bool wanted);

  json::Value server_info(json::Arena& arena) const;
  json::Value capabilities(Revision revision, json::Arena& arena) const;
  std::string instructions() const;
  const std::string& tools_listing(Revision revision) const { return listings_[static_cast<std::size_t>(revision)]; }
  const json::Value& input_schema(std::size_t tool) const { return schemas_[tool]; }

  // Streams that listen end with a result.
  // False: the server is stopping, or the client has too many of them.
  bool keep_listening(const std::shared_ptr<Task>& task, std::uint64_t listener);
  void end_listening(const std::shared_ptr<Task>& task);  // with its result
  void shut_down();
  bool stopping() const { return stopping_; }

  // A parser to be handed to take; it comes back by itself.
  std::shared_ptr<json::Parser> parser();

  // Where an answer of this result or fault goes.
  std::string result_message(Task& task, const json::Value& result, const std::optional<Caching>& caching);
  static std::string fault_message(std::string_view id_text, const Fault& fault);

 private:
  void take_one(const std::shared_ptr<json::Parser>& parser, const json::Value& message, const Arrival& arrival);
  void take_batch(const std::shared_ptr<json::Parser>& parser, const json::Value& messages, const Arrival& arrival);
  void request(const std::shared_ptr<Task>& task, const Arrival& arrival);
  void notification(const json::Value& message, const Arrival& arrival);
  bool quick(const Method& method, const Task& task) const;
  bool may_write(const Method& method, const Task& task) const;
  void run(const std::shared_ptr<Task>& task, const Method& method);
  void end(const std::shared_ptr<Task>& task, const Outcome& outcome, const std::optional<Caching>& caching, std::string_view counted);
  void write_listings();
  std::optional<Fault> check_modern(Task& task, const Arrival& arrival) const;
  std::optional<Fault> check_headers(const Task& task, const Arrival& arrival) const;
  std::optional<Fault> check_parameter_headers(const Task& task, const Arrival& arrival) const;
  std::optional<Fault> check_legacy(Task& task) const;

  api::World& world_;
  api::Lanes& lanes_;
  api::Journal& journal_;
  const Options options_;
  Subscriptions subscriptions_;
  std::vector<ToolSpec> tools_;
  std::vector<PromptSpec> prompts_;
  json::Arena listed_;                 // where the schemas live
  std::vector<json::Value> schemas_;   // inputSchema of each tool
  std::vector<std::string> listings_;  // of tools/list, by revision
  // Parsers that nobody uses. A worker may let go of the last one when the core has gone already.
  struct Parsers {
    std::mutex mutex;
    std::vector<std::unique_ptr<json::Parser>> idle;
  };
  const std::shared_ptr<Parsers> parsers_ = std::make_shared<Parsers>();
  std::mutex introduced_mutex_;
  std::map<const Peer*, std::uint64_t> introduced_;  // their listeners
  std::mutex listening_mutex_;
  std::map<std::shared_ptr<Task>, std::uint64_t> listening_;
  std::atomic<bool> stopping_ = false;
};

// ---- methods.cc: the table ----

struct Method {
  std::string_view name;
  bool legacy = true, modern = true;
  bool quick = false;  // answered by whoever reads the connection
  std::optional<Caching> caching = std::nullopt;
  Outcome (*run)(Core& core, Asked& asked) = nullptr;
};
const Method* find_method(std::string_view name);
Outcome call_operation(Core& core, Asked& asked, std::string_view operation);  // weir/<operation>

}  // namespace weir::mcp
