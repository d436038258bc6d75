#include "http/keyed_mcp.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <span>

#include "http/text.h"
#include "json/parse.h"
#include "mcp/server.h"

namespace weir::http {
namespace {

struct ToolCall {
  bool is_one = false;
  bool momentary = false;  // what `read` says is true for its reader now, and never said again
  std::string session;
};

ToolCall tool_call(const json::Value& message) {
  if (message.text_or("method", "") != "tools/call") return {};
  const json::Value* const params = message.find("params");
  const json::Value* const arguments = params == nullptr ? nullptr : params->find("arguments");
  const std::string_view name = params == nullptr ? "" : params->text_or("name", "");
  return {true, name == "read" || name == "status", arguments == nullptr ? "" : std::string(arguments->text_or("session", ""))};
}

// The last message of an event stream.
std::string_view last_data(std::string_view events) {
  constexpr std::string_view kData = "data: ";
  const std::size_t begin = events.rfind("\n" + std::string(kData));
  if (begin == std::string_view::npos) return {};
  events.remove_prefix(begin + 1 + kData.size());
  return events.substr(0, events.find('\n'));
}

// Was something done? What failed changed nothing and may be asked again.
bool is_done(const json::Value& message) {
  const json::Value* const result = message.find("result");
  const json::Value* const failed = result == nullptr ? nullptr : result->find("isError");
  return result != nullptr && (failed == nullptr || !failed->is_boolean() || !failed->boolean());
}

bool is_done_in(std::string_view answer) {
  json::Parser parser;
  const auto message = parser.parse_stored(answer);
  return message.ok() && is_done(*message);
}

// A request that is handed on.
class HandedOn : public api::Exchange {
 public:
  HandedOn(std::shared_ptr<http::Exchange> exchange, KeyedAnswers& answers) : exchange_(std::move(exchange)), answers_(answers) {}

  std::string_view method() const override { return exchange_->method(); }
  std::string_view header(std::string_view name) const override { return exchange_->header(name); }
  const std::string& body() const override { return exchange_->body(); }
  const std::string& client() const override { return exchange_->client(); }
  bool may_write() const override { return exchange_->may_write(); }
  bool gone() const override { return exchange_->gone(); }
  bool commit() override { return exchange_->commit(); }

 protected:
  const std::shared_ptr<http::Exchange> exchange_;
  KeyedAnswers& answers_;
};

// One call.
class Keyed final : public HandedOn, public std::enable_shared_from_this<Keyed> {
 public:
  Keyed(std::shared_ptr<http::Exchange> exchange, KeyedAnswers& answers, Answers::Turn turn, ToolCall call)
      : HandedOn(std::move(exchange), answers), turn_(std::move(turn)), call_(std::move(call)) {}

  using api::Exchange::answer;
  void answer(int status, api::Headers headers, std::string body, ReceiptPtr receipt) override {
    keep(status, headers, body, body);
    exchange_->answer(status, std::move(headers), std::move(body), std::move(receipt));
  }
  std::shared_ptr<api::Stream> stream(int status, api::Headers headers) override;

  void keep(int status, const api::Headers& headers, std::string_view message, const std::string& body) {
    const auto type = std::find_if(headers.begin(), headers.end(), [](const auto& one) { return same_name(one.first, "content-type"); });
    const bool done = type != headers.end() && is_done_in(message);
    if (done && call_.momentary) answers_.remember(turn_, call_.session);
    if (done && !call_.momentary) answers_.keep(turn_, call_.session, {status, type->second, body});
    turn_.reset();
  }

 private:
  std::optional<Answers::Turn> turn_;
  const ToolCall call_;
};

// A batch, of which each call has the key for itself: what was done once is answered as it was then, also where the call beside it
// is one that is always decided anew. The key itself stands for the whole, so that no other request is taken under it.
class KeyedBatch final : public HandedOn {
 public:
  struct Part {
    ToolCall call;
    std::optional<std::string> kept;
    std::optional<Answers::Turn> turn;
  };
  KeyedBatch(std::shared_ptr<http::Exchange> exchange, KeyedAnswers& answers, std::optional<Answers::Turn> turn,
             std::map<std::size_t, Part> parts)
      : HandedOn(std::move(exchange), answers),
        parts_(std::move(parts)),
        left_(static_cast<std::size_t>(std::count_if(parts_.begin(), parts_.end(), [](const auto& part) { return !part.second.kept; }))),
        turn_(std::move(turn)) {}

  std::optional<std::string> kept_part(std::size_t place) override {
    const auto part = parts_.find(place);
    return part == parts_.end() ? std::nullopt : part->second.kept;
  }

  // Each place is answered once, by one thread. All turns are over before the answer leaves.
  void keep_part(std::size_t place, std::string_view answer) override {
    const auto found = parts_.find(place);
    if (found == parts_.end()) return;
    Part& part = found->second;
    const bool done = is_done_in(answer);
    if (done) answers_.keep(part.turn, part.call.session, {200, "application/json", std::string(answer)});
    part.turn.reset();
    const std::lock_guard lock(mutex_);
    if (done) answers_.remember(turn_, part.call.session);
    if (--left_ == 0) turn_.reset();
  }

  using api::Exchange::answer;
  void answer(int status, api::Headers headers, std::string body, ReceiptPtr receipt) override {
    exchange_->answer(status, said(std::move(headers)), std::move(body), std::move(receipt));
  }
  std::shared_ptr<api::Stream> stream(int status, api::Headers headers) override {
    return exchange_->stream(status, said(std::move(headers)));
  }

 private:
  // A replay is one of which nothing was done now.
  api::Headers said(api::Headers headers) const {
    if (all_kept_) headers.emplace_back(kReplayed, "true");
    return headers;
  }

  std::map<std::size_t, Part> parts_;  // by place: the calls of tools
  std::mutex mutex_;
  std::size_t left_;  // that are to be answered
  const bool all_kept_ = left_ == 0;
  std::optional<Answers::Turn> turn_;  // of the whole
};

// What is sent is remembered as long as it can be kept. Who sends calls it from one thread at a time.
class Recorded final : public api::Stream {
 public:
  Recorded(std::shared_ptr<Keyed> exchange, std::shared_ptr<api::Stream> stream, int status, api::Headers headers)
      : exchange_(std::move(exchange)), stream_(std::move(stream)), status_(status), headers_(std::move(headers)) {}

  bool send(std::string_view bytes) override {
    if (sent_.size() <= kMostKept) sent_ += bytes;
    return stream_->send(bytes);
  }
  using api::Stream::end;
  void end(ReceiptPtr receipt) override {
    exchange_->keep(status_, headers_, last_data(sent_), sent_);
    stream_->end(std::move(receipt));
  }
  bool open() const override { return stream_->open(); }

 private:
  const std::shared_ptr<Keyed> exchange_;
  const std::shared_ptr<api::Stream> stream_;
  const int status_;
  const api::Headers headers_;
  std::string sent_;
};

std::shared_ptr<api::Stream> Keyed::stream(int status, api::Headers headers) {
  auto to = exchange_->stream(status, headers);
  return std::make_shared<Recorded>(shared_from_this(), std::move(to), status, std::move(headers));
}

std::shared_ptr<api::Exchange> keyed_call(std::shared_ptr<Exchange> exchange, KeyedAnswers& answers, ToolCall call) {
  if (!call.is_one) return exchange;
  std::optional<Answers::Turn> turn;
  if (!answers.begin(*exchange, turn)) return nullptr;
  if (!turn) return exchange;
  return std::make_shared<Keyed>(std::move(exchange), answers, std::move(*turn), std::move(call));
}

std::shared_ptr<api::Exchange> keyed_batch(std::shared_ptr<Exchange> exchange, KeyedAnswers& answers,
                                           std::span<const json::Value> messages) {
  std::map<std::size_t, KeyedBatch::Part> parts;
  for (std::size_t place = 0; place < messages.size() && messages.size() <= mcp::kMostInBatch; ++place) {
    ToolCall call = tool_call(messages[place]);
    if (call.is_one && messages[place].find("id") != nullptr) parts.emplace(place, KeyedBatch::Part{std::move(call), {}, {}});
  }
  if (parts.empty()) return exchange;
  std::optional<Answers::Turn> turn;
  if (!answers.begin(*exchange, turn)) return nullptr;
  for (auto& [place, part] : parts) {
    if (part.call.momentary) continue;
    auto begun = answers.begin_part(*exchange, place);
    if (!begun.ok()) {
      exchange->answer(std::move(begun).error());
      return nullptr;
    }
    if (begun->kept) part.kept = std::move(begun->kept->body);
    if (begun->turn) part.turn.emplace(std::move(*begun->turn));
  }
  return std::make_shared<KeyedBatch>(std::move(exchange), answers, std::move(turn), std::move(parts));
}

}  // namespace

std::shared_ptr<api::Exchange> keyed_exchange(std::shared_ptr<Exchange> exchange, KeyedAnswers& answers) {
  if (!is_keyed(*exchange)) return exchange;
  if (auto wrong = check_key(exchange->header("idempotency-key")); !wrong.ok()) {
    exchange->answer(std::move(wrong).error());
    return nullptr;
  }
  json::Parser parser;
  const auto message = parser.parse(exchange->body());
  if (!message.ok()) return exchange;
  if (message->is_array()) return keyed_batch(std::move(exchange), answers, message->items());
  return keyed_call(std::move(exchange), answers, tool_call(*message));
}

}  // namespace weir::http
