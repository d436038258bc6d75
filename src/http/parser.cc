#include "http/parser.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>

#include "base/limits.h"
#include "http/text.h"

namespace weir::http {
namespace {

namespace beast = boost::beast;

// Twice of these is no list but an attempt.
constexpr std::string_view kOnce[] = {"host",   "content-length", "transfer-encoding", "content-type",    "authorization",
                                      "origin", "expect",         "if-match",          "idempotency-key", "last-event-id"};
constexpr std::size_t kChunkFrame = 16 * limits::kKiB;  // a chunk's head, or the trailer, which is dropped
constexpr std::size_t kFirstBody = 64 * limits::kKiB;   // taken on a client's word; the rest as it comes

bool once(std::string_view name) { return std::find(std::begin(kOnce), std::end(kOnce), name) != std::end(kOnce); }

std::string_view view(beast::string_view text) { return {text.data(), text.size()}; }

}  // namespace

class Parser::Machine final : public beast::http::basic_parser<true> {
 public:
  explicit Machine(const HeadLimits& limits) {
    // Ours are stricter and answer for themselves.
    header_limit(static_cast<std::uint32_t>(limits.url_bytes + limits.header_bytes + 1024));
    body_limit(boost::none);
    eager(false);
  }

  Request request;
  bool head_done = false;
  bool over_body_limit = false;
  std::size_t most_body = 0;
  const char* wrong = nullptr;

 private:
  using error_code = beast::error_code;
  void refuse(const char* why, error_code& error) {
    wrong = why;
    error = beast::http::error::bad_field;
  }

  void on_request_impl(beast::http::verb, beast::string_view method, beast::string_view target, int version, error_code&) override {
    request.method = view(method);
    request.target = view(target);
    request.version = version;
  }

  void on_response_impl(int, beast::string_view, int, error_code&) override {}

  void on_field_impl(beast::http::field, beast::string_view name, beast::string_view value, error_code& error) override {
    if (head_done) return;  // a trailer says nothing
    const std::string key = lower(view(name));
    for (auto& [known, text] : request.headers) {
      if (known != key) continue;
      if (once(key)) return refuse("a header stands twice that may stand once", error);
      text += ", ";
      text += view(value);
      return;
    }
    if (key == "transfer-encoding" && !same_name(view(value), "chunked")) return refuse("an unknown transfer encoding", error);
    if (key == "content-length" && view(value).find_first_not_of("0123456789") != std::string_view::npos)
      return refuse("a length that is no number", error);
    request.headers.emplace_back(key, view(value));
  }

  void on_header_impl(error_code& error) override {
    head_done = true;
    request.keep_alive = request.version == 11 && keep_alive();
    request.has_body = chunked() || content_length().value_or(0) > 0;
    if (const auto length = content_length()) request.content_length = *length;
    if (chunked() && request.version == 10) refuse("HTTP/1.0 has no chunks", error);
    if (chunked() && request.has("content-length")) refuse("a length beside chunks", error);
  }

  void on_body_init_impl(boost::optional<std::uint64_t> const& length, error_code&) override {
    if (length) request.body.reserve(std::min<std::size_t>(*length, std::min(most_body, kFirstBody)));
  }

  std::size_t on_body_impl(beast::string_view part, error_code& error) override {
    if (request.body.size() + part.size() > most_body) {
      over_body_limit = true;
      error = beast::http::error::body_limit;
      return 0;
    }
    request.body.append(part.data(), part.size());
    return part.size();
  }

  void on_chunk_header_impl(std::uint64_t, beast::string_view, error_code&) override {}

  std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view part, error_code& error) override { return on_body_impl(part, error); }

  void on_finish_impl(error_code&) override {}
};

Parser::Parser(const HeadLimits& limits) : limits_(limits), machine_(std::make_unique<Machine>(limits)) {}
Parser::~Parser() = default;

Parser::State Parser::state() const {
  if (problem_) return State::failed;
  if (!machine_->head_done) return State::head;
  return machine_->is_done() ? State::done : State::body;
}

Request& Parser::request() { return machine_->request; }
const Problem& Parser::problem() const { return *problem_; }

void Parser::restart() {
  machine_ = std::make_unique<Machine>(limits_);
  searched_ = 0;
  problem_.reset();
}

void Parser::limit_body(std::size_t bytes) {
  machine_->most_body = bytes;
  const auto length = machine_->request.content_length;
  if (length && *length > bytes) fail(over_limit("body_bytes", bytes, *length));
}

void Parser::fail(Problem problem) { problem_ = std::move(problem); }

std::size_t Parser::feed_head(std::string_view bytes) {
  constexpr std::string_view kEnd = "\r\n\r\n";
  const std::size_t from = searched_ < kEnd.size() ? 0 : searched_ - kEnd.size() + 1;
  const std::size_t end = bytes.find(kEnd, from);
  if (end == std::string_view::npos) {
    if (auto wrong = check_partial_head(bytes, limits_)) fail(std::move(*wrong));
    // A bare line feed would never end it: it is told now, not at the deadline.
    for (std::size_t at = bytes.find('\n', searched_); at != std::string_view::npos; at = bytes.find('\n', at + 1))
      if (at == 0 || bytes[at - 1] != '\r') fail(malformed("a line ends without a carriage return"));
    searched_ = bytes.size();
    return 0;
  }
  const std::string_view head = bytes.substr(0, end + kEnd.size());
  if (auto wrong = check_head(head, limits_)) {
    fail(std::move(*wrong));
    return 0;
  }
  beast::error_code error;
  const std::size_t taken = machine_->put(boost::asio::const_buffer(head.data(), head.size()), error);
  if (error || !machine_->head_done) {
    fail(malformed(machine_->wrong != nullptr ? machine_->wrong : error.message()));
    return 0;
  }
  return taken;
}

std::size_t Parser::feed(std::string_view bytes) {
  const State now = state();
  if (now == State::done || now == State::failed || bytes.empty()) return 0;
  if (now == State::head) return feed_head(bytes);
  std::size_t all = 0;
  while (all < bytes.size() && !machine_->is_done()) {
    beast::error_code error;
    const std::size_t taken = machine_->put(boost::asio::const_buffer(bytes.data() + all, bytes.size() - all), error);
    all += taken;
    if (error == beast::http::error::need_more) {
      if (bytes.size() - all > kChunkFrame) fail(malformed("a chunk without an end of its head"));
      break;
    }
    if (machine_->over_body_limit) {
      fail(over_limit("body_bytes", machine_->most_body, std::max(machine_->most_body + 1, machine_->request.body.size())));
      break;
    }
    if (error) {
      fail(malformed(error.message()));
      break;
    }
    if (taken == 0) break;
  }
  return all;
}

}  // namespace weir::http
