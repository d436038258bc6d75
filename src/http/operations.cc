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

constexpr std::size_t kMostKept = 4 << 20;  // of an answer that is kept for its key

// An answer made of lines, sent as they are made; the client sets the pace. One that is to be kept is held back until it is
// whole, unless it is too long for that.
class Lines final : public api::Watch {
 public:
  Lines(Exchange& exchange, const Limits& limits, bool whole)
      : exchange_(exchange), patience_ms_(limits.request_ms), together_(whole ? kMostKept : kLinesTogether), whole_(whole) {}

  bool cancelled() const override { return exchange_.gone(); }

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
  exchange.answer_or(reply.status, std::move(headers), std::move(reply.text), std::move(reply.undelivered));
}

Problem problem_of(Error error, bool conditional) {
  const bool moved = conditional && error.code() == ErrorCode::CONFLICT;
  return moved ? Problem(412, std::move(error)) : Problem(std::move(error));
}

bool is_keyed(const Exchange& exchange) { return exchange.method() == "POST" && exchange.request().has("idempotency-key"); }

// Which session an answer speaks of: it goes when that is purged.
std::string session_of(const Exchange& exchange, std::string_view answer) {
  for (const auto& [name, value] : exchange.admission().match.arguments)
    if (name == "session") return value;
  json::Parser parser;
  const auto made = parser.parse(answer);
  return made.ok() ? std::string(made->text_or("id", "")) : "";
}

}  // namespace

// What an operation came to, as it is kept.
struct Operations::Done {
  const Error* error;  // null: none
  KeptAnswer answer;
};

void Operations::run(Exchange& exchange) { is_keyed(exchange) ? run_keyed(exchange) : run_once(exchange, std::nullopt); }

void Operations::run_keyed(Exchange& exchange) {
  const auto begin = [&]() -> Result<Answers::Begun> {
    TRY_DO(check_key(exchange.header("idempotency-key")));
    TRY(Answers * kept, answers());
    return kept->begin(exchange.header("idempotency-key"), request_digest(exchange));
  };
  auto begun = begin();
  if (!begun.ok()) return exchange.answer(std::move(begun).error());
  if (begun->turn) return run_once(exchange, std::move(begun->turn));
  KeptAnswer& kept = *begun->kept;
  api::Headers headers = {{"Idempotency-Replayed", "true"}};
  if (!kept.type.empty()) headers.emplace_back("Content-Type", kept.type);
  exchange.answer(kept.status, std::move(headers), std::move(kept.body));
}

void Operations::run_once(Exchange& exchange, std::optional<Answers::Turn> turn) {
  const api::Operation& operation = *exchange.admission().match.route->operation;
  Lines lines(exchange, limits_, turn.has_value());
  api::Call call(world_, operation, lines);
  call.may_write = exchange.may_write();
  Arguments read;
  const auto work = [&]() -> Result<void> {
    TRY(json::Value arguments, read.read(call, exchange));
    if (turn) arguments = name_work(operation.id, arguments, exchange.header("idempotency-key"), request_digest(exchange), call.arena);
    return api::call(call, arguments);
  };
  auto done = work();
  if (!done.ok()) {
    if (lines.begun()) return lines.break_off(done.error());
    const Problem problem = problem_of(std::move(done).error(), read.conditional());
    const std::string body = problem_json(problem, exchange.request().path());
    keep(exchange, turn, {&problem.error, {problem.status, "application/problem+json", body}});
    return exchange.answer(problem.status, problem_headers(problem), body);
  }
  if (operation.id == "deleteSession") forget_session(exchange);
  if (operation.answers == api::Answers::lines && (!turn || lines.begun())) return lines.end();
  if (operation.answers == api::Answers::lines) call.reply.text = lines.take();
  keep(exchange, turn, {nullptr, {call.reply.status, content_type(media_type(operation.answers)), call.reply.text}});
  answer_reply(exchange, operation, call.reply);
}

// An error changes nothing and may be asked again, but for a compaction whose failure is on record.
void Operations::keep(Exchange& exchange, std::optional<Answers::Turn>& held, const Done& done) {
  if (!held) return;
  // Over before the answer leaves: who has it may ask again at once.
  const std::optional<Answers::Turn> turn = std::move(held);
  held.reset();
  if (done.error != nullptr && done.error->code() != ErrorCode::GATE_FAILED) return;
  if (done.answer.body.size() > kMostKept || holds_secret(done.answer.body, world_.service.masker())) return;
  const auto kept = turn->keep(session_of(exchange, done.answer.body), done.answer);
  // The work is done: saying so is right, even if a repetition will not be known.
  if (!kept.ok()) journal_.write(api::Level::warn, "answer-not-kept", {{"error", kept.error().message()}});
}

Result<Answers*> Operations::answers() {
  const std::lock_guard lock(mutex_);
  if (answers_ == nullptr) {
    TRY(answers_, Answers::open(world_.service.store(), world_.read_only));
  }
  return answers_.get();
}

// The service has done it for a store on disk.
void Operations::forget_session(const Exchange& exchange) {
  const std::lock_guard lock(mutex_);
  if (answers_ == nullptr || world_.service.store().sqlite() != nullptr) return;
  for (const auto& [name, value] : exchange.admission().match.arguments) {
    const auto id = SessionId::parse(value);
    if (name != "session" || !id.ok()) continue;
    if (const auto gone = answers_->forget(*id); !gone.ok())
      journal_.write(api::Level::warn, "answers-not-forgotten", {{"error", gone.error().message()}});
  }
}

}  // namespace weir::http
