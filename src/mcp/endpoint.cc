#include "mcp/endpoint.h"

#include "base/hex.h"

namespace weir::mcp {
namespace {

using json::Value;

constexpr std::size_t kMostSessions = 1024;
constexpr std::string_view kSessionHeader = "Mcp-Session-Id";

api::Headers json_headers() { return {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}}; }

api::Headers stream_headers() {
  return {{"Content-Type", "text/event-stream"}, {"Cache-Control", "no-store"}, {"X-Accel-Buffering", "no"}};
}

std::string event(std::string_view message) { return "event: message\ndata: " + std::string(message) + "\n\n"; }

bool accepts(const api::Exchange& exchange, std::string_view type) {
  const std::string_view accept = exchange.header("Accept");
  const std::string_view family = type.substr(0, type.find('/') + 1);
  return accept.empty() || accept.find(type) != std::string_view::npos || accept.find("*/*") != std::string_view::npos ||
         accept.find(std::string(family) + "*") != std::string_view::npos;
}

// One request's answer: a JSON body, or, once there is something to say before it, an event stream.
class HttpChannel final : public Channel {
 public:
  HttpChannel(std::shared_ptr<api::Exchange> exchange, bool modern)
      : exchange_(std::move(exchange)),
        modern_(modern),
        streams_(!exchange_->header("Accept").empty() && accepts(*exchange_, "text/event-stream")) {}

  // Asked when the answer goes out.
  void set_headers(std::function<api::Headers()> headers) { headers_ = std::move(headers); }

  void tell(std::string_view message) override {
    const std::lock_guard lock(mutex_);
    if (!streams_ || finished_) return;
    if (stream_ == nullptr) {
      stream_ = exchange_->stream(200, with_more(stream_headers()));
    }
    stream_->send(event(message));
  }

  bool hears() const override { return streams_; }

  using Channel::finish;
  void finish(std::string_view message, int http, ReceiptPtr receipt) override {
    const std::lock_guard lock(mutex_);
    if (finished_) return;
    finished_ = true;
    if (stream_ != nullptr) {
      stream_->send(event(message));
      return stream_->end(std::move(receipt));
    }
    exchange_->answer(http, with_more(message.empty() ? api::Headers{{"Cache-Control", "no-store"}} : json_headers()), std::string(message),
                      std::move(receipt));
  }

  void skip() override {
    const std::lock_guard lock(mutex_);
    if (finished_) return;
    finished_ = true;
    if (stream_ != nullptr) {
      stream_->end();
    } else {
      exchange_->answer(202, {{"Cache-Control", "no-store"}}, "");
    }
  }

  // A stream that was begun has no time limit.
  bool commit() override {
    const std::lock_guard lock(mutex_);
    return stream_ != nullptr || exchange_->commit();
  }

  // To close the response is to cancel, in the modern era only.
  bool gone() const override {
    if (!modern_) return false;
    const std::lock_guard lock(mutex_);
    return exchange_->gone() || (stream_ != nullptr && !stream_->open());
  }

 private:
  api::Headers with_more(api::Headers headers) const {
    if (!headers_) return headers;
    for (auto& header : headers_()) headers.push_back(std::move(header));
    return headers;
  }

  const std::shared_ptr<api::Exchange> exchange_;
  const bool modern_, streams_;
  mutable std::mutex mutex_;
  std::function<api::Headers()> headers_;
  std::shared_ptr<api::Stream> stream_;
  bool finished_ = false;
};

void refuse(api::Exchange& exchange, const Fault& fault) {
  exchange.answer(fault.http, json_headers(), Core::fault_message("null", fault));
}

bool is_initialize(const Value& message) {
  return message.is_object() && message.text_or("method", "") == "initialize" && message.find("id") != nullptr;
}

}  // namespace

// A legacy client over HTTP.
struct Endpoint::Session {
  std::string id, client;
  std::uint64_t used = 0;
  std::mutex mutex;
  std::shared_ptr<api::Stream> stream;  // what GET opened
  bool ended = false;
  std::shared_ptr<Peer> peer;

  bool send(std::string_view message) {
    const std::lock_guard lock(mutex);
    return stream != nullptr && stream->send(event(message));
  }
};

Endpoint::~Endpoint() { shut_down(); }

void Endpoint::serve(const std::shared_ptr<api::Exchange>& exchange) {
  if (exchange->method() == "POST") return post(exchange);
  if (exchange->method() == "GET") return open_stream(exchange);
  if (exchange->method() == "DELETE") return end_session(exchange);
  exchange->answer(405, {{"Allow", "POST, GET, DELETE"}}, "");
}

void Endpoint::post(const std::shared_ptr<api::Exchange>& exchange) {
  if (!accepts(*exchange, "application/json") && !accepts(*exchange, "text/event-stream"))
    return refuse(*exchange, {.code = code::kRequest, .message = "an answer is application/json or text/event-stream", .http = 406});
  const auto parser = core_.parser();
  const auto message = parser->parse(exchange->body());
  if (!message.ok()) return refuse(*exchange, {.code = code::kParse, .message = message.error().message(), .http = 400});
  Arrival arrival;
  arrival.header = [exchange](std::string_view name) { return exchange->header(name); };
  arrival.may_write = exchange->may_write();
  const Value one = message->is_object() ? *message : Value::object({});
  if (!Core::is_modern_message(one, arrival)) return post_legacy(exchange, parser, *message);
  arrival.channel = std::make_shared<HttpChannel>(exchange, true);
  core_.take(parser, *message, arrival);
}

void Endpoint::post_legacy(const std::shared_ptr<api::Exchange>& exchange, const std::shared_ptr<json::Parser>& parser,
                           const Value& message) {
  Arrival arrival;
  arrival.header = [exchange](std::string_view name) { return exchange->header(name); };
  arrival.may_write = exchange->may_write();
  const auto channel = std::make_shared<HttpChannel>(exchange, false);
  arrival.channel = channel;
  if (is_initialize(message)) {
    const auto session = new_session(exchange->client());
    // One that is refused has no session.
    channel->set_headers([session]() -> api::Headers {
      if (!session->peer->revision()) return {};
      return {{std::string(kSessionHeader), session->id}};
    });
    arrival.peer = session->peer;
    core_.take(parser, message, arrival);
    if (!session->peer->revision()) drop(session->id);
    return;
  }
  // What can be answered to anybody: a broken envelope, and a ping before there is a session.
  const bool ping = message.is_object() && message.text_or("method", "") == "ping";
  if (exchange->header(kSessionHeader).empty() && ping) {
    arrival.peer = std::make_shared<Peer>([](std::string_view) { return false; });
    return core_.take(parser, message, arrival);
  }
  const auto session = session_of(exchange);
  if (session == nullptr) return;
  arrival.peer = session->peer;
  arrival.exchange = exchange;
  core_.take(parser, message, arrival);
}

void Endpoint::open_stream(const std::shared_ptr<api::Exchange>& exchange) {
  if (exchange->header(kSessionHeader).empty()) return exchange->answer(405, {{"Allow", "POST"}}, "");
  const auto session = session_of(exchange);
  if (session == nullptr) return;
  if (!accepts(*exchange, "text/event-stream"))
    return refuse(*exchange, {.code = code::kRequest, .message = "this is a text/event-stream", .http = 406});
  const std::lock_guard lock(session->mutex);
  if (session->stream != nullptr && session->stream->open())
    return refuse(*exchange, {.code = code::kRequest, .message = "the session has its stream already", .http = 409});
  session->stream = exchange->stream(200, stream_headers());
  if (session->ended) session->stream->end();
}

void Endpoint::end_session(const std::shared_ptr<api::Exchange>& exchange) {
  if (exchange->header(kSessionHeader).empty()) return exchange->answer(405, {{"Allow", "POST"}}, "");
  const auto session = session_of(exchange);
  if (session == nullptr) return;
  drop(session->id);
  exchange->answer(204, {{"Cache-Control", "no-store"}}, "");
}

std::shared_ptr<Endpoint::Session> Endpoint::session_of(const std::shared_ptr<api::Exchange>& exchange) {
  const std::string_view id = exchange->header(kSessionHeader);
  if (id.empty()) {
    refuse(*exchange, {.code = code::kRequest, .message = "Mcp-Session-Id is missing: initialize comes first", .http = 400});
    return nullptr;
  }
  std::shared_ptr<Session> found;
  {
    const std::lock_guard lock(mutex_);
    const auto at = sessions_.find(id);
    // Another token's session is none.
    if (at != sessions_.end() && at->second->client == exchange->client()) found = at->second;
    if (found != nullptr) found->used = ++uses_;
  }
  if (found == nullptr) {
    refuse(*exchange, {.code = code::kRequest, .message = "there is no such session: initialize again", .http = 404});
    return nullptr;
  }
  const std::string_view version = exchange->header("MCP-Protocol-Version");
  if (!version.empty() && !parse_revision(version)) {
    refuse(*exchange, {.code = code::kRequest, .message = "MCP-Protocol-Version is not one that is spoken here", .http = 400});
    return nullptr;
  }
  return found;
}

std::shared_ptr<Endpoint::Session> Endpoint::new_session(const std::string& client) {
  auto session = std::make_shared<Session>();
  Random& random = core_.world().service.store().doors().random;
  std::string bytes;
  for (int word = 0; word < 2; ++word) {
    const std::uint64_t bits = random.next();
    for (int shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(bits >> shift & 0xff);
  }
  session->id = encode_hex(bytes);
  session->client = client;
  session->peer = std::make_shared<Peer>([weak = std::weak_ptr(session)](std::string_view message) {
    const auto to = weak.lock();
    return to != nullptr && to->send(message);
  });
  std::string oldest;
  {
    const std::lock_guard lock(mutex_);
    session->used = ++uses_;
    sessions_.emplace(session->id, session);
    if (sessions_.size() > kMostSessions) {
      const auto first = std::min_element(sessions_.begin(), sessions_.end(),
                                          [](const auto& a, const auto& b) { return a.second->used < b.second->used; });
      oldest = first->first;
    }
  }
  if (!oldest.empty()) drop(oldest);
  return session;
}

void Endpoint::drop(const std::string& id) {
  std::shared_ptr<Session> session;
  {
    const std::lock_guard lock(mutex_);
    const auto found = sessions_.find(id);
    if (found == sessions_.end()) return;
    session = found->second;
    sessions_.erase(found);
  }
  core_.forget(*session->peer);
  session->peer->cancel_all();
  const std::lock_guard lock(session->mutex);
  session->ended = true;
  if (session->stream != nullptr) session->stream->end();
}

void Endpoint::shut_down() {
  for (;;) {
    std::string id;
    {
      const std::lock_guard lock(mutex_);
      if (sessions_.empty()) return;
      id = sessions_.begin()->first;
    }
    // What is under way is finished first, so nothing is cancelled here: only the streams end.
    std::shared_ptr<Session> session;
    {
      const std::lock_guard lock(mutex_);
      session = sessions_[id];
      sessions_.erase(id);
    }
    core_.forget(*session->peer);
    const std::lock_guard lock(session->mutex);
    session->ended = true;
    if (session->stream != nullptr) session->stream->end();
  }
}

}  // namespace weir::mcp
