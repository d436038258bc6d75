// A request under way: what was asked, by whom, and whether somebody still waits for the answer.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "api/call.h"
#include "json/parse.h"
#include "mcp/channel.h"
#include "mcp/protocol.h"

namespace weir::mcp {

class Peer;

class Task final : public api::Watch, public std::enable_shared_from_this<Task> {
 public:
  // Where `message`, `params` and `meta` live.
  std::shared_ptr<json::Parser> parser;
  json::Value id;       // a string or an integer
  std::string id_text;  // the same as JSON
  std::string_view method;
  json::Value params;  // an object, maybe empty
  json::Value meta;    // the same
  Revision revision = kNewestLegacy;
  json::Value capabilities;    // of the client
  std::shared_ptr<Peer> peer;  // null: a modern request over HTTP stands for itself
  std::shared_ptr<Channel> channel;
  bool may_write = true;
  std::optional<int> level;                                  // least log level wanted
  std::function<std::string_view(std::string_view)> header;  // of the request, over HTTP
  ReceiptPtr receipt;                                        // of the answer

  bool cancelled() const override { return cancelled_ || channel->gone(); }
  bool commit() override;
  void cancel() { cancelled_ = true; }
  // Sent if the client gave a token: rising, at most ten a second, none after the answer.
  void progress(std::uint64_t done, std::uint64_t total) override;
  void progress(std::uint64_t done, std::uint64_t total, std::string_view message);
  // notifications/message, if the client wants that level.
  // Any other message before the answer.
  void tell(std::string_view message);
  // Lines of an answer that is made of lines, for who can only send it whole.
  bool line(std::string_view text) override;
  const std::string& lines() const { return lines_; }
  void log(std::string_view log_level, std::string_view logger, const json::Value& data);

  // The answer, once. Nothing is sent if the request was cancelled.
  void finish(std::string_view message, int http);
  bool modern() const { return is_modern(revision); }

 private:
  std::atomic<bool> cancelled_ = false, committed_ = false;
  std::mutex mutex_;
  bool finished_ = false;
  std::string lines_;
  std::optional<std::uint64_t> last_progress_;
  std::chrono::steady_clock::time_point last_at_;
};

}  // namespace weir::mcp
