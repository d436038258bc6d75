// What a client of the faces needs: a program that answers lines, a connection that answers HTTP, and what a process costs.
// Plain pipes and sockets, so that the client adds next to nothing. Anything that goes wrong ends the run.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weir::bench {

[[noreturn]] void give_up(const std::string& what);

std::string file_text(const std::string& path);

// CPU of a process and all its threads so far, in microseconds; 0 if it is gone.
double cpu_of(pid_t pid);
// The most memory it has held, in megabytes.
double peak_memory_mb(pid_t pid);

// Bytes that have come from a descriptor and have not been taken yet.
class Inbox {
 public:
  void attach(int fd) { fd_ = fd; }
  // Waits for more.
  void fill();
  // Takes what is there, if anything is. False: the other side has closed.
  bool take_what_is_there();
  std::string_view bytes() const { return std::string_view(buffer_).substr(begin_, end_ - begin_); }
  void drop(std::size_t count);
  // The next line without its end; valid until the next call.
  std::string_view line();

 private:
  int fd_ = -1;
  std::string buffer_;  // longer than what is in it: filling it with zeros would cost more than many an answer
  std::size_t begin_ = 0, end_ = 0, spent_ = 0;
};

// A program that is asked by lines of JSON-RPC; ended with this object.
class LineServer {
 public:
  explicit LineServer(const std::vector<std::string>& command);
  ~LineServer();
  LineServer(const LineServer&) = delete;
  LineServer& operator=(const LineServer&) = delete;

  pid_t pid() const { return pid_; }
  void tell(std::string_view line);
  // The answer to a request, without the line's end; what belongs to no request is passed over. `arrived` is when it was there.
  std::string_view answer(long id, double& arrived);
  // initialize and what follows it; when the first answer was there.
  double greet();

 private:
  pid_t pid_ = -1;
  int in_ = -1;
  int out_ = -1;
  Inbox inbox_;
};

struct HttpAnswer {
  int status = 0;
  std::size_t head_bytes = 0, body_bytes = 0;  // as they came
  std::string_view body;                       // chunks as they are; valid until the next answer
};

// One connection that stays.
class HttpConnection {
 public:
  explicit HttpConnection(int port);
  ~HttpConnection();
  HttpConnection(HttpConnection&& other) noexcept;
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  int fd() const { return fd_; }
  Inbox& inbox() { return inbox_; }
  void send(std::string_view request);
  // The answer if all of it is there; `done` takes it off.
  bool whole(HttpAnswer& out) const;
  void done(const HttpAnswer& answer) { inbox_.drop(answer.head_bytes + answer.body_bytes); }

 private:
  int fd_ = -1;
  Inbox inbox_;
};

}  // namespace weir::bench
