// Weir's faces for programs and their peers, asked by one client in turns.
//   faces stdio CALLS LARGE_CALLS STARTS SERVER...      each: NAME SMALL LARGE COMMAND... ;
//   faces http SECONDS CONNECTIONS SERVER...            each: NAME PID PORT REQUEST_FILE
//   faces events LISTENERS APPENDS PORT LISTEN_FILE APPEND_FILE
// SMALL and LARGE are params of tools/call, for files that end in kEnd; "-": this server has no such call. A request file holds a
// whole HTTP request; where its body says kId, every request says another number.
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>

#include "bench/client/wire.h"
#include "bench/meter.h"

using namespace weir::bench;

namespace {

constexpr std::string_view kEnd = "the last line of the file";  // an answer without it is no answer
constexpr std::string_view kId = "10000000";
constexpr int kBlock = 50;  // calls of one server before the next one's turn

void figure_of(const std::string& server, const char* what, double value, const char* unit) {
  figure((server + "_" + what).c_str(), value, unit);
}

// ---- lines ----

struct Series {
  std::vector<double> times_us;
  std::size_t answer_bytes = 0;
};

struct Lines {
  std::string name, small, large;
  std::vector<std::string> command;
  std::vector<double> starts_ms;
  std::unique_ptr<LineServer> server;
  Series small_reads, large_reads;
  std::vector<double> small_cpu_us;  // a call, of each block: other programs' noise is in few of them
  long next_id = 100;

  void start() {
    server.reset();
    const double begin = wall_us();
    server = std::make_unique<LineServer>(command);
    starts_ms.push_back((server->greet() - begin) / 1000);
  }

  std::size_t ask(const std::string& method, const std::string& params, double& took_us, std::string_view holding) {
    const long id = next_id++;
    const std::string line =
        R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":")" + method + R"(","params":)" + params + "}\n";
    double arrived = 0;
    const double sent = wall_us();
    server->tell(line);
    const std::string_view answer = server->answer(id, arrived);
    took_us = arrived - sent;
    if (answer.find(holding) == std::string_view::npos) give_up(name + " answers " + std::string(answer.substr(0, 400)));
    return answer.size() + 1;
  }

  void read(const std::string& params, Series& into, int count) {
    for (int i = 0; i < count; ++i) {
      double took = 0;
      into.answer_bytes = ask("tools/call", params, took, kEnd);
      into.times_us.push_back(took);
    }
  }
};

std::vector<Lines> line_servers(char** words) {
  std::vector<Lines> out;
  while (*words != nullptr) {
    Lines one;
    one.name = *words++;
    one.small = *words++;
    one.large = *words++;
    for (; *words != nullptr && std::strcmp(*words, ";") != 0; ++words) one.command.emplace_back(*words);
    if (*words != nullptr) ++words;
    out.push_back(std::move(one));
  }
  return out;
}

// Every server reads a block of times, again and again; the first blocks only warm up.
void take_turns(std::vector<Lines>& servers, int calls, std::string Lines::* params, Series Lines::* series) {
  for (const bool warm : {true, false}) {
    for (Lines& one : servers) one.*series = {};
    const int count = warm ? std::min(calls, 300) : calls;
    for (int done = 0; done < count; done += kBlock) {
      for (Lines& one : servers) {
        if (one.*params == "-") continue;
        const double before = cpu_of(one.server->pid());
        const int block = std::min(kBlock, count - done);
        one.read(one.*params, one.*series, block);
        if (!warm && series == &Lines::small_reads) one.small_cpu_us.push_back((cpu_of(one.server->pid()) - before) / block);
      }
    }
  }
}

void report(Lines& one) {
  figure_of(one.name, "start_ms", percentile(one.starts_ms, 0.5), "ms");
  if (one.small != "-") {
    figure_of(one.name, "2k_cpu_us", percentile(one.small_cpu_us, 0.5), "us");
    figure_of(one.name, "2k_p50_us", percentile(one.small_reads.times_us, 0.5), "us");
    figure_of(one.name, "2k_p99_us", percentile(one.small_reads.times_us, 0.99), "us");
    figure_of(one.name, "2k_bytes", static_cast<double>(one.small_reads.answer_bytes), "B");
  }
  if (one.large != "-") {
    figure_of(one.name, "200k_p50_us", percentile(one.large_reads.times_us, 0.5), "us");
    figure_of(one.name, "200k_bytes", static_cast<double>(one.large_reads.answer_bytes), "B");
  }
  figure_of(one.name, "memory_mb", peak_memory_mb(one.server->pid()), "MB");
  double took = 0;
  figure_of(one.name, "tools_bytes", static_cast<double>(one.ask("tools/list", "{}", took, "\"tools\":")), "B");
}

int stdio(char** words) {
  const int calls = std::atoi(words[0]), large_calls = std::atoi(words[1]), starts = std::atoi(words[2]);
  std::vector<Lines> servers = line_servers(words + 3);
  for (int i = 0; i < starts; ++i) {
    for (Lines& one : servers) one.start();
  }
  take_turns(servers, calls, &Lines::small, &Lines::small_reads);
  take_turns(servers, large_calls, &Lines::large, &Lines::large_reads);
  for (Lines& one : servers) report(one);
  return 0;
}

// ---- requests ----

// Many connections, waited for together. The client is one thread.
class Poll {
 public:
  Poll() : fd_(::epoll_create1(EPOLL_CLOEXEC)) {}
  ~Poll() { ::close(fd_); }
  Poll(const Poll&) = delete;
  Poll& operator=(const Poll&) = delete;

  void add(int fd, std::size_t number) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = number;
    ::epoll_ctl(fd_, EPOLL_CTL_ADD, fd, &event);
  }
  // The numbers of those that have something to say.
  template <typename F>
  void wait(F&& ready) {
    epoll_event events[128];
    const int n = ::epoll_wait(fd_, events, 128, 10000);
    if (n == 0) give_up("nothing comes any more");
    for (int i = 0; i < n; ++i) ready(static_cast<std::size_t>(events[i].data.u64));
  }

 private:
  int fd_;
};

// One server under load: each connection has one request under way.
class Load {
 public:
  Load(std::string name, pid_t pid, int port, std::string request)
      : name_(std::move(name)), pid_(pid), port_(port), request_(std::move(request)) {
    id_at_ = request_.rfind(kId);
  }

  void run(double seconds, std::size_t connections, bool counts) {
    while (connections_.size() < connections) {
      connections_.emplace_back(port_);
      sent_.push_back(0);
      poll_.add(connections_.back().fd(), connections_.size() - 1);
    }
    const double cpu = cpu_of(pid_), begin = wall_us(), end = begin + seconds * 1e6;
    for (std::size_t i = 0; i < connections; ++i) ask(i);
    std::size_t open = connections;
    while (open > 0) {
      poll_.wait([&](std::size_t i) {
        if (!take(i, counts)) return;
        if (wall_us() < end) {
          ask(i);
        } else {
          --open;
        }
      });
    }
    if (!counts) return;
    spent_us_ += wall_us() - begin;
    cpu_us_ += cpu_of(pid_) - cpu;
  }

  void report() {
    const double answered = static_cast<double>(times_us_.size());
    figure_of(name_, "per_s", answered / spent_us_ * 1e6, "1/s");
    figure_of(name_, "cpu_us", cpu_us_ / answered, "us");
    figure_of(name_, "p50_us", percentile(times_us_, 0.5), "us");
    figure_of(name_, "p99_us", percentile(times_us_, 0.99), "us");
  }

 private:
  void ask(std::size_t i) {
    if (id_at_ != std::string::npos) request_.replace(id_at_, kId.size(), std::to_string(next_id_++));
    sent_[i] = wall_us();
    connections_[i].send(request_);
  }

  // Is the answer there?
  bool take(std::size_t i, bool counts) {
    HttpConnection& connection = connections_[i];
    if (!connection.inbox().take_what_is_there()) give_up(name_ + " has closed a connection");
    HttpAnswer answer;
    if (!connection.whole(answer)) return false;
    if (counts) times_us_.push_back(wall_us() - sent_[i]);
    if (answer.status != 200 || answer.body.find(kEnd) == std::string_view::npos)
      give_up(name_ + " answers " + std::string(connection.inbox().bytes().substr(0, 600)));
    connection.done(answer);
    return true;
  }

  std::string name_;
  pid_t pid_;
  int port_;
  std::string request_;
  std::size_t id_at_ = std::string::npos;
  long next_id_ = 10000001;
  std::deque<HttpConnection> connections_;
  std::vector<double> sent_, times_us_;
  double spent_us_ = 0, cpu_us_ = 0;
  Poll poll_;
};

int http(int count, char** words) {
  const double seconds = std::strtod(words[0], nullptr);
  const auto connections = static_cast<std::size_t>(std::atoi(words[1]));
  std::deque<Load> loads;
  for (int i = 2; i + 3 < count; i += 4)
    loads.emplace_back(words[i], std::atoi(words[i + 1]), std::atoi(words[i + 2]), file_text(words[i + 3]));
  constexpr int kTurns = 8;
  for (Load& load : loads) load.run(seconds / 4, connections, false);
  for (int turn = 0; turn < kTurns; ++turn) {
    for (Load& load : loads) load.run(seconds / kTurns, connections, true);
  }
  for (Load& load : loads) load.report();
  return 0;
}

// ---- events ----

std::size_t count_of(std::string_view text, std::string_view what) {
  std::size_t out = 0;
  for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + what.size())) ++out;
  return out;
}

class Listeners {
 public:
  Listeners(std::size_t count, int port, const std::string& request) : writer_(port) {
    poll_.add(writer_.fd(), count);
    for (std::size_t i = 0; i < count; ++i) {
      streams_.emplace_back(port);
      streams_.back().send(request);
      Inbox& inbox = streams_.back().inbox();
      while (inbox.bytes().find("\r\n\r\n") == std::string_view::npos) inbox.fill();
      if (inbox.bytes().substr(9, 3) != "200") give_up("no stream: " + std::string(inbox.bytes().substr(0, 400)));
      inbox.drop(inbox.bytes().find("\r\n\r\n") + 4);
      poll_.add(streams_.back().fd(), i);
    }
  }

  // One append on a connection of its own: how long after it was sent each listener had its event, and when it was answered.
  void append(const std::string& request) {
    const double sent = wall_us();
    writer_.send(request);
    std::size_t waiting = streams_.size() + 1;
    while (waiting > 0) {
      poll_.wait([&](std::size_t i) {
        const bool there = i == streams_.size() ? answered() : delivered(streams_[i].inbox());
        if (!there) return;
        (i == streams_.size() ? answered_us : delivered_us).push_back(wall_us() - sent);
        --waiting;
      });
    }
  }

  std::vector<double> delivered_us, answered_us;

 private:
  bool answered() {
    if (!writer_.inbox().take_what_is_there()) give_up("the connection that appends has ended");
    HttpAnswer answer;
    if (!writer_.whole(answer)) return false;
    if (answer.status != 201) give_up("an append is answered " + std::string(writer_.inbox().bytes().substr(0, 400)));
    writer_.done(answer);
    return true;
  }

  static bool delivered(Inbox& inbox) {
    if (!inbox.take_what_is_there()) give_up("a stream has ended");
    const std::size_t events = count_of(inbox.bytes(), "event: entry");
    if (events > 1) give_up("an event came twice");
    if (events == 1) inbox.drop(inbox.bytes().size());
    return events == 1;
  }

  std::deque<HttpConnection> streams_;
  HttpConnection writer_;
  Poll poll_;
};

int events(char** words) {
  const auto count = static_cast<std::size_t>(std::atoi(words[0]));
  const int appends = std::atoi(words[1]), port = std::atoi(words[2]);
  const std::string append = file_text(words[4]);
  Listeners listeners(count, port, file_text(words[3]));
  for (int i = 0; i < appends; ++i) listeners.append(append);
  figure("delivered_p50_ms", percentile(listeners.delivered_us, 0.5) / 1000, "ms");
  figure("delivered_p99_ms", percentile(listeners.delivered_us, 0.99) / 1000, "ms");
  figure("delivered_worst_ms", listeners.delivered_us.back() / 1000, "ms");
  figure("answered_p50_ms", percentile(listeners.answered_us, 0.5) / 1000, "ms");
  return 0;
}

}  // namespace

int main(int count, char** words) {
  ::signal(SIGPIPE, SIG_IGN);
  const std::string_view what = count > 1 ? words[1] : "";
  if (what == "stdio" && count > 7) return stdio(words + 2);
  if (what == "http" && count > 7) return http(count - 2, words + 2);
  if (what == "events" && count == 7) return events(words + 2);
  give_up("usage: faces stdio|http|events ...");
}
