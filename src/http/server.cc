#include "http/server.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <iterator>
#include <mutex>
#include <thread>

#include "api/openapi.h"
#include "base/memory.h"
#include "http/admit.h"
#include "http/events.h"
#include "http/health.h"
#include "http/keyed_mcp.h"
#include "http/loop.h"
#include "http/metrics.h"
#include "http/operations.h"
#include "http/router.h"

namespace weir::http {
namespace {

// Work of the server's own that is under way in workers; it has to be over before the server goes.
class Underway {
 public:
  void begin() {
    const std::lock_guard lock(mutex_);
    ++count_;
  }
  void end() {
    const std::lock_guard lock(mutex_);
    if (--count_ == 0) none_.notify_all();
  }
  bool none() {
    const std::lock_guard lock(mutex_);
    return count_ == 0;
  }
  void wait() {
    std::unique_lock lock(mutex_);
    none_.wait(lock, [this] { return count_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable none_;
  std::size_t count_ = 0;
};

constexpr std::size_t kGuessBytes = 4096;
constexpr std::size_t kLinesThreads = 4, kMostLinesWaiting = 16;
constexpr std::size_t kQuickTogether = 8;  // quick requests that one worker takes at a time

Guests guests_of(const Options& options) {
  Guests out{options.allow_hosts, options.allow_origins, {}, {}};
  if (options.token) out.token = sha256(*options.token);
  if (options.read_token) out.read_token = sha256(*options.read_token);
  return out;
}

class Front final : public Server, private Site {
 public:
  Front(api::World& world, api::Lanes& lanes, mcp::Server& mcp, api::Journal& journal, Options options, std::unique_ptr<Listener> listener)
      : world_(world),
        lanes_(lanes),
        mcp_(mcp),
        journal_(journal),
        options_(std::move(options)),
        guests_(guests_of(options_)),
        router_(api::operations()),
        keyed_(world, journal),
        operations_(world, options_.limits, keyed_),
        events_(world.service, world.feed, [this](std::function<void()> work) { on(lanes_.slow, std::move(work)); }),
        loop_(std::make_unique<Loop>(std::move(listener), options_.limits, static_cast<Site&>(*this))) {}

  ~Front() override {
    loop_.reset();  // whoever works for a client hears that it is gone
    underway_.wait();
  }

  std::string url() const override { return loop_->url(); }
  Result<void> can_run() const { return loop_->can_run(); }
  Result<void> run(const std::function<int()>& signal) override { return loop_->run(signal); }
  void count_mcp(std::string_view era, std::string_view method, std::string_view result) override { metrics_.mcp(era, method, result); }

 private:
  Admission admit(const Request& request) override {
    Admission out = http::admit(request, {router_, guests_, options_.limits});
    if (out.refused && out.refused->status == 401) metrics_.auth_failure();
    return out;
  }

  void serve(std::shared_ptr<Exchange> exchange) override {
    const Target target = exchange->admission().match.route->target;
    if (target == Target::health) return work(exchange);  // whatever the workers do
    if (target == Target::ready && draining_) return answer_reasons(*exchange, {"draining"});
    const api::Operation* operation = exchange->admission().match.route->operation;
    const api::Pace pace = target == Target::mcp ? api::Pace::brief : target == Target::operation ? operation->pace : api::Pace::slow;
    if (pace == api::Pace::quick) {
      quick_.push_back(std::move(exchange));
    } else if (pace == api::Pace::brief) {
      brief_.push_back(std::move(exchange));
    } else if (target == Target::ready || target == Target::metrics) {
      on(aside_, [this, exchange = std::move(exchange)] { work(exchange); });
    } else if (target == Target::operation && operation->answers == api::Answers::lines) {
      serve_lines(std::move(exchange));
    } else {
      api::Workers& lane = lane_of(*exchange);
      on(lane, [this, exchange = std::move(exchange)] { work(exchange); });
    }
  }

  // What MCP is asked is only looked at here; it has the same lanes for what it does.
  api::Workers& lane_of(const Exchange& exchange) {
    const Route& route = *exchange.admission().match.route;
    if (route.target == Target::mcp) return lanes_.quick;
    if (route.operation == nullptr) return lanes_.slow;
    if (route.operation->pace == api::Pace::quick) return lanes_.quick;
    return route.operation->writes && !seems_to_look(exchange) ? lanes_.writing : lanes_.slow;
  }

  // A guess, for the lane alone: what is sent is not parsed yet.
  static bool seems_to_look(const Exchange& exchange) {
    const Request& request = exchange.request();
    const auto says = [&](std::string_view text) { return request.body.find(text) != std::string::npos; };
    const std::string_view path = request.path();
    if (path.ends_with("/research/status") || path.ends_with("/research/verify")) return true;
    if (request.body.size() > kGuessBytes) return false;
    return says("\"dry_run\"") || says("\"none\"") || request.query().find("dry_run") != std::string_view::npos ||
           request.query().find("at=") != std::string_view::npos;
  }

  // Their clients set the pace, so they have threads of their own: those who do not read hold up nobody else.
  void serve_lines(std::shared_ptr<Exchange> exchange) {
    if (lines_.waiting() >= kMostLinesWaiting)
      return exchange->answer(Problem(Error(ErrorCode::BUSY, "others are being sent long answers: try again in a moment")));
    on(lines_, [this, exchange = std::move(exchange)] { work(exchange); });
  }

  // Waking a thread costs more than a quick answer: they go in twos or more, and the loop's thread takes a part of them. So it does with a
  // brief one when there is nothing else to do.
  void turn_over() override {
    std::vector<Piece> pieces;
    for (auto& exchange : std::exchange(brief_, {})) pieces.push_back({std::move(exchange)});
    const bool here = pieces.empty() || (pieces.size() == 1 && quick_.empty() && underway_.none());
    const auto quick = std::exchange(quick_, {});
    const std::size_t share = std::min(kQuickTogether, (quick.size() + 1) / 2);
    for (std::size_t begin = 0; begin < quick.size(); begin += share)
      pieces.emplace_back(quick.begin() + static_cast<std::ptrdiff_t>(begin),
                          quick.begin() + static_cast<std::ptrdiff_t>(std::min(begin + share, quick.size())));
    for (Piece& piece : pieces) {
      if (here && &piece == &pieces.back() && loop_->work_here([&] { work_on(piece); })) continue;
      api::Workers& lane = lane_of(*piece.front());
      on(lane, [this, piece = std::move(piece)]() mutable { work_on(piece); });
    }
  }
  bool busy() const override { return !quick_.empty() || !brief_.empty(); }

  using Piece = std::vector<std::shared_ptr<Exchange>>;  // what one thread does, one after the other
  void work_on(Piece& piece) {
    for (auto& exchange : piece) {
      work(exchange);
      exchange.reset();
    }
  }

  void on(api::Workers& workers, std::function<void()> work) {
    underway_.begin();
    workers.run([this, work = std::move(work)]() mutable {
      try {
        work();
      } catch (const std::bad_alloc&) {
        // It is left undone; who waits for it hears that from what it held.
      }
      work = nullptr;  // what it held goes before the server may
      underway_.end();
    });
  }

  void work(const std::shared_ptr<Exchange>& exchange) {
    try {
      work_with_memory(exchange);
    } catch (const std::bad_alloc&) {
      exchange->answer(Problem(out_of_memory()));
    }
  }

  void work_with_memory(const std::shared_ptr<Exchange>& exchange) {
    switch (exchange->admission().match.route->target) {
      case Target::operation:
        return operations_.run(*exchange);
      case Target::events:
        return events_.serve(*exchange);
      case Target::mcp:
        if (auto answered = keyed_exchange(exchange, keyed_)) mcp_.serve(std::move(answered));
        return;
      case Target::ready:
        return answer_reasons(*exchange, reasons_not_ready(world_.service));
      case Target::metrics:
        return exchange->answer(200, {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}},
                                metrics_.text(world_.service, options_.version));
      case Target::openapi:
        return exchange->answer(200, {{"Content-Type", "application/json"}}, openapi());
      case Target::health:
        return exchange->answer(200, {{"Content-Type", "text/plain; charset=utf-8"}}, "ok");
    }
  }

  const std::string& openapi() {
    std::call_once(openapi_made_, [this] { openapi_ = api::openapi_document(options_.version); });
    return openapi_;
  }

  void answer_reasons(Exchange& exchange, const std::vector<std::string>& reasons) {
    exchange.answer(reasons.empty() ? 200 : 503, {{"Content-Type", "application/json"}}, reasons_json(reasons));
  }

  void finished(const Finished& request) override {
    metrics_.request(request);
    if (!journal_.wants(api::Level::info)) return;
    const auto ms = static_cast<std::int64_t>(request.seconds * 1000);
    const auto bytes = static_cast<std::int64_t>(request.bytes);
    if (request.trace.empty()) {
      journal_.write(
          api::Level::info, "request",
          {{"method", request.method}, {"route", request.path}, {"status", std::int64_t{request.status}}, {"ms", ms}, {"bytes", bytes}});
    } else {
      journal_.write(api::Level::info, "request",
                     {{"method", request.method},
                      {"route", request.path},
                      {"status", std::int64_t{request.status}},
                      {"ms", ms},
                      {"bytes", bytes},
                      {"traceparent", request.trace}});
    }
  }

  void event_streams(int change) override { metrics_.event_streams(change); }
  TimeMs now() override { return world_.service.now(); }
  void draining() override { draining_ = true; }
  void end_streams() override {
    on(aside_, [this] {
      events_.end();
      mcp_.shut_down();
    });
  }

  api::World& world_;
  api::Lanes& lanes_;
  mcp::Server& mcp_;
  api::Journal& journal_;
  const Options options_;
  const Guests guests_;
  const Router router_;
  KeyedAnswers keyed_;
  Operations operations_;
  std::once_flag openapi_made_;
  std::string openapi_;
  Metrics metrics_;
  Underway underway_;
  Events events_;
  std::atomic<bool> draining_{false};
  std::vector<std::shared_ptr<Exchange>> quick_, brief_;  // the loop's: what came in this turn
  std::unique_ptr<Loop> loop_;
  // Last, so that they end first.
  api::Workers lines_{kLinesThreads};
  api::Workers aside_{1};  // what must not wait behind anything
};

}  // namespace

Result<std::unique_ptr<Server>> Server::open(api::World& world, api::Lanes& lanes, mcp::Server& mcp, api::Journal& journal,
                                             Options options) {
  TRY(auto listener, Listener::open(options.listen));
  auto front = std::make_unique<Front>(world, lanes, mcp, journal, std::move(options), std::move(listener));
  TRY_DO(front->can_run());
  return std::unique_ptr<Server>(std::move(front));
}

}  // namespace weir::http
