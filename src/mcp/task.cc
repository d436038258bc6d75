#include "mcp/task.h"

#include "base/limits.h"
#include "json/canonical.h"
#include "mcp/peer.h"

namespace weir::mcp {
namespace {

constexpr std::size_t kMostLines = 256 * limits::kMiB;
constexpr auto kBetweenProgress = std::chrono::milliseconds(100);

}  // namespace

// What has begun to be stored is stored to its end.
bool Task::commit() {
  if (!committed_ && !cancelled() && channel->commit()) committed_ = true;
  return committed_;
}

void Task::progress(std::uint64_t done, std::uint64_t total) { progress(done, total, {}); }

void Task::progress(std::uint64_t done, std::uint64_t total, std::string_view message) {
  const json::Value* token = meta.find("progressToken");
  if (token == nullptr || (!token->is_string() && !token->is_integer()) || !channel->hears()) return;
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  if (finished_ || cancelled_ || (last_progress_ && done <= *last_progress_)) return;
  if (last_progress_ && now - last_at_ < kBetweenProgress && message.empty()) return;
  last_progress_ = done;
  last_at_ = now;
  json::Arena arena;
  json::ObjectBuilder out(arena);
  out.add("progressToken", *token).add("progress", done);
  if (total != 0) out.add("total", total);
  if (!message.empty() && revision >= Revision::v2025_03_26) out.add("message", message);
  channel->tell(
      json::canonical(json::make_object(arena, {{"jsonrpc", "2.0"}, {"method", "notifications/progress"}, {"params", out.build()}})));
}

void Task::log(std::string_view name, std::string_view logger, const json::Value& data) {
  if (!level || *level > log_level(name).value_or(0) || !channel->hears()) return;
  json::Arena arena;
  const json::Value told = json::make_object(arena, {{"level", name}, {"logger", logger}, {"data", data}});
  const std::lock_guard lock(mutex_);
  if (finished_ || cancelled_) return;
  channel->tell(json::canonical(json::make_object(arena, {{"jsonrpc", "2.0"}, {"method", "notifications/message"}, {"params", told}})));
}

void Task::finish(std::string_view message, int http) {
  bool sent = false;
  {
    const std::lock_guard lock(mutex_);
    if (finished_) return;
    finished_ = true;
    // First, so that whoever takes the request back meets one or the other.
    if (receipt && peer) peer->answering(*this);
    sent = !cancelled_;
    if (sent) {
      channel->finish(message, http, receipt);
    } else {
      channel->skip();
    }
  }
  if (!sent && receipt) receipt->lost();
}

void Task::tell(std::string_view message) {
  const std::lock_guard lock(mutex_);
  if (!finished_ && !cancelled_) channel->tell(message);
}

bool Task::line(std::string_view text) {
  if (cancelled() || lines_.size() + text.size() > kMostLines) return false;
  lines_.append(text);
  lines_ += '\n';
  return true;
}

}  // namespace weir::mcp
