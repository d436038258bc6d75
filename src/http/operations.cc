#include "http/operations.h"

#include "http/admit.h"
#include "http/arguments.h"
#include "http/keyed.h"
#include "http/ranges.h"
#include "json/canonical.h"
#include "json/parse.h"
#include "service/render.h"

namespace weir::http {
namespace {

constexpr std::size_t kLinesTogether = 32 << 10;
constexpr std::string_view kForever = "private, max-age=31536000, immutable";

// An answer made of lines, sent as they are made; the client sets the pace. One that is to be kept is held back until it is
// whole, unless it is too long for that.
class Lines final : public api::Watch {
 public:
  Lines(Exchange& exchange, const Limits& limits, bool whole)
      : exchange_(exchange), patience_ms_(limits.request_ms), together_(whole ? kMostKept : kLinesTogether), whole_(whole) {}

  bool cancelled() const override { return exchange_.gone(); }
  // What has begun to be stored is stored to its end.
  bool commit() override { return exchange_.committed() || (!cancelled() && exchange_.commit()); }

  bool line(std::string_view text) override {
    pending_ += text;
    if (!text.ends_with('\n')) pending_ += '\n';
    if (pending_.size() >= together_ || (stream_ == nullptr && !whole_)) return send();
    return stream_ == nullptr ? !exchange_.gone() : stream_->open();
  }

  bool begun() const { return stream_ != nullptr; }
  std::string take() { return std::move(pending_); }

  void end() {
    if (send()) stream_->end();
  }

  // What was sent is not the whole, and must not look like it.
  void break_off(const Error& error) {
    json::Arena arena;
    pending_ += json::canonical(json::make_object(arena, {{"error", error_json(error, arena)}})) + "\n";
    send();
    stream_->cut();
  }

 private:
  bool send() {
    if (stream_ == nullptr) stream_ = exchange_.open_stream(200, {{"Content-Type", std::string(media_type(api::Answers::lines))}});
    const bool sent = pending_.empty() ? stream_->open() : stream_->send_patiently(std::move(pending_), patience_ms_);
    pending_.clear();
    together_ = kLinesTogether;
    return sent;
  }

  Exchange& exchange_;
  int patience_ms_;
  std::size_t together_;
  const bool whole_;
  std::string pending_;
  std::shared_ptr<Stream> stream_;
};

void answer_part(Exchange& exchange, api::Reply& reply, api::Headers headers) {
  headers.emplace_back("Accept-Ranges", "bytes");
  const std::string_view condition = exchange.header("if-range");
  const bool same = condition.empty() || condition == "\"" + reply.etag + "\"";
  const auto range = same ? byte_range(exchange.header("range"), reply.text.size()) : std::nullopt;
  if (!range) return exchange.answer(reply.status, std::move(headers), std::move(reply.text));
  const std::string size = std::to_string(reply.text.size());
  if (!range->satisfiable) {
    Problem problem(416, Error(ErrorCode::INVALID_FIELD, "the range lies outside the " + size + " bytes there are"));
    problem.headers.emplace_back("Content-Range", "bytes */" + size);
    return exchange.answer(problem);
  }
  headers.emplace_back("Content-Range", "bytes " + std::to_string(range->first) + "-" + std::to_string(range->last) + "/" + size);
  exchange.answer(206, std::move(headers), reply.text.substr(range->first, range->last - range->first + 1));
}

// Headers of an answer that has a body.
std::string content_type(std::string_view type) {
  return type.starts_with("text/") ? std::string(type) + "; charset=utf-8" : std::string(type);
}

void answer_reply(Exchange& exchange, const api::Operation& operation, api::Reply& reply) {
  api::Headers headers = std::move(reply.headers);
  if (!reply.etag.empty()) {
    headers.emplace_back("ETag", "\"" + reply.etag + "\"");
    headers.emplace_back("Cache-Control", kForever);
    if (names_tag(exchange.header("if-none-match"), reply.etag)) return exchange.answer(304, std::move(headers), {});
  }
  const std::string_view type = media_type(operation.answers);
  if (type.empty()) return exchange.answer(reply.status, std::move(headers), {});
  headers.emplace_back("Content-Type", content_type(type));
  if (operation.answers == api::Answers::bytes) return answer_part(exchange, reply, std::move(headers));
  exchange.answer(reply.status, std::move(headers), std::move(reply.text), std::move(reply.receipt));
}

Problem problem_of(Error error, bool conditional) {
  const bool moved = conditional && error.code() == ErrorCode::CONFLICT;
  return moved ? Problem(412, std::move(error)) : Problem(std::move(error));
}

// Which session an answer speaks of: it goes when that is purged. One that makes a session says so itself.
std::string session_of(const api::Call& call, std::string_view answer) {
  if (const auto named = call.text("session")) return *named;
  json::Parser parser;
  const auto made = parser.parse(answer);
  return made.ok() ? std::string(made->text_or("id", "")) : "";
}

}  // namespace

void Operations::run(Exchange& exchange) {
  std::optional<Answers::Turn> turn;
  if (!is_keyed(exchange) || keyed_.begin(exchange, turn)) run_once(exchange, std::move(turn));
}

void Operations::run_once(Exchange& exchange, std::optional<Answers::Turn> turn) {
  const api::Operation& operation = *exchange.admission().match.route->operation;
  Lines lines(exchange, limits_, turn.has_value());
  api::Call call(world_, operation, lines);
  call.may_write = exchange.may_write();
  Arguments read;
  const auto work = [&]() -> Result<void> {
    TRY(json::Value arguments, read.read(call, exchange));
    if (is_keyed(exchange))
      arguments = name_work(operation.id, arguments, exchange.header("idempotency-key"), request_digest(exchange), call.arena);
    return api::call(call, arguments);
  };
  auto done = work();
  if (!done.ok()) {
    if (lines.begun()) return lines.break_off(done.error());
    const Problem problem = problem_of(std::move(done).error(), read.conditional());
    const std::string body = problem_json(problem, exchange.request().path());
    // An error changes nothing and may be asked again, but for a compaction whose failure is on record.
    if (problem.error.code() == ErrorCode::GATE_FAILED)
      keyed_.keep(turn, session_of(call, body), {problem.status, "application/problem+json", body});
    turn.reset();
    return exchange.answer(problem.status, problem_headers(problem), body);
  }
  if (operation.id == "deleteSession") forget_session(call);
  if (operation.answers == api::Answers::lines && (!turn || lines.begun())) return lines.end();
  if (operation.answers == api::Answers::lines) call.reply.text = lines.take();
  const std::string session = turn ? session_of(call, call.reply.text) : "";
  if (operation.momentary) {
    keyed_.remember(turn, session);
  } else {
    keyed_.keep(turn, session, {call.reply.status, content_type(media_type(operation.answers)), call.reply.text});
  }
  answer_reply(exchange, operation, call.reply);
}

void Operations::forget_session(const api::Call& call) {
  if (const auto session = call.session(); session.ok()) keyed_.forget(*session);
}

}  // namespace weir::http
