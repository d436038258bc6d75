#include "http/keyed_mcp.h"

#include <algorithm>

#include "http/text.h"
#include "json/parse.h"

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
  return {true, name == "read" || name == "status",
          arguments == nullptr ? "" : std::string(arguments->text_or("session", ""))};
}

// Of a message, or of a batch whose calls are all about one session.
ToolCall tool_call_in(std::string_view body) {
  json::Parser parser;
  const auto message = parser.parse(body);
  if (!message.ok()) return {};
  if (!message->is_array()) return tool_call(*message);
  ToolCall all;
  for (const json::Value& one : message->items()) {
    const ToolCall call = tool_call(one);
    if (!call.is_one) continue;
    if (all.is_one && call.session != all.session) return {};
    all = {true, all.momentary || call.momentary, call.session};
  }
  return all;
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
  if (!message.ok()) return false;
  if (!message->is_array()) return is_done(*message);
  return std::any_of(message->items().begin(), message->items().end(), [](const json::Value& one) { return is_done(one); });
}

class Keyed final : public api::Exchange, public std::enable_shared_from_this<Keyed> {
 public:
  Keyed(std::shared_ptr<http::Exchange> exchange, KeyedAnswers& answers, Answers::Turn turn, std::string session)
      : exchange_(std::move(exchange)), answers_(answers), turn_(std::move(turn)), session_(std::move(session)) {}

  std::string_view method() const override { return exchange_->method(); }
  std::string_view header(std::string_view name) const override { return exchange_->header(name); }
  const std::string& body() const override { return exchange_->body(); }
  const std::string& client() const override { return exchange_->client(); }
  bool may_write() const override { return exchange_->may_write(); }
  bool gone() const override { return exchange_->gone(); }
  bool commit() override { return exchange_->commit(); }

  using api::Exchange::answer;
  void answer(int status, api::Headers headers, std::string body, ReceiptPtr receipt) override {
    keep(status, headers, body, body);
    exchange_->answer(status, std::move(headers), std::move(body), std::move(receipt));
  }
  std::shared_ptr<api::Stream> stream(int status, api::Headers headers) override;

  void keep(int status, const api::Headers& headers, std::string_view message, const std::string& body) {
    const auto type = std::find_if(headers.begin(), headers.end(), [](const auto& one) { return same_name(one.first, "content-type"); });
    if (type != headers.end() && is_done_in(message)) answers_.keep(turn_, session_, {status, type->second, body});
    turn_.reset();
  }

 private:
  const std::shared_ptr<http::Exchange> exchange_;
  KeyedAnswers& answers_;
  std::optional<Answers::Turn> turn_;
  const std::string session_;
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

}  // namespace

std::shared_ptr<api::Exchange> keyed_exchange(std::shared_ptr<Exchange> exchange, KeyedAnswers& answers) {
  if (!is_keyed(*exchange)) return exchange;
  if (auto wrong = check_key(exchange->header("idempotency-key")); !wrong.ok()) {
    exchange->answer(std::move(wrong).error());
    return nullptr;
  }
  ToolCall call = tool_call_in(exchange->body());
  if (!call.is_one || call.momentary) return exchange;
  auto turn = answers.begin(*exchange);
  if (!turn) return nullptr;
  return std::make_shared<Keyed>(std::move(exchange), answers, std::move(*turn), std::move(call.session));
}

}  // namespace weir::http
