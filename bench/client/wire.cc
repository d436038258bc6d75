#include "bench/client/wire.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "bench/meter.h"

namespace weir::bench {
namespace {

constexpr int kPatienceMs = 60000;
constexpr std::size_t kPiece = 1 << 18;

void wait_for(int fd, short what) {
  for (;;) {
    pollfd ready{fd, what, 0};
    const int n = ::poll(&ready, 1, kPatienceMs);
    if (n > 0) return;
    if (n == 0) give_up("no answer in time");
    if (errno != EINTR) give_up("poll failed");
  }
}

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n > 0) {
      text.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {
      wait_for(fd, POLLOUT);
    } else if (errno != EINTR) {
      give_up("the server no longer reads");
    }
  }
}

// Is this the answer to request `id`, and no notification?
bool answers(std::string_view line, long id) {
  const std::string wanted = "\"id\":" + std::to_string(id);
  for (std::size_t at = line.find(wanted); at != std::string_view::npos; at = line.find(wanted, at + 1)) {
    const std::size_t after = at + wanted.size();
    if (after < line.size() && (line[after] == ',' || line[after] == '}')) return true;
  }
  return false;
}

// A number in the line of a header, whatever its case. -1: there is no such header.
long header_number(std::string_view head, const char* name) {
  const char* const found = ::strcasestr(std::string(head).c_str(), name);
  return found == nullptr ? -1 : std::strtol(found + std::strlen(name), nullptr, 10);
}

// How long a body of chunks is, its last chunk included; 0: not all of it is there.
std::size_t chunked_bytes(std::string_view body) {
  std::size_t at = 0;
  for (;;) {
    const std::size_t end = body.find("\r\n", at);
    if (end == std::string_view::npos) return 0;
    std::size_t size = 0;
    std::from_chars(body.data() + at, body.data() + end, size, 16);
    at = end + 2 + size + 2;
    if (at > body.size()) return 0;
    if (size == 0) return at;
  }
}

}  // namespace

void give_up(const std::string& what) {
  std::fprintf(stderr, "faces: %s\n", what.c_str());
  std::exit(1);
}

std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) give_up("cannot read " + path);
  std::ostringstream out;
  out << file.rdbuf();
  return std::move(out).str();
}

double cpu_of(pid_t pid) {
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  DIR* const directory = ::opendir(tasks.c_str());
  if (directory == nullptr) return 0;
  double nanoseconds = 0;
  while (const dirent* const task = ::readdir(directory)) {
    if (task->d_name[0] == '.') continue;  // above the tasks the process has a schedstat, too
    double spent = 0;
    std::ifstream(tasks + "/" + task->d_name + "/schedstat") >> spent;
    nanoseconds += spent;
  }
  ::closedir(directory);
  return nanoseconds / 1000;
}

double peak_memory_mb(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string word; file >> word;) {
    double kilobytes = 0;
    if (word == "VmHWM:" && file >> kilobytes) return kilobytes / 1024;
  }
  return 0;
}

// ---- Inbox ----

bool Inbox::take_what_is_there() {
  if (buffer_.size() - end_ < kPiece) buffer_.resize(std::max(4 * kPiece, 2 * buffer_.size()));
  const ssize_t n = ::read(fd_, buffer_.data() + end_, buffer_.size() - end_);
  if (n > 0) end_ += static_cast<std::size_t>(n);
  return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

void Inbox::fill() {
  wait_for(fd_, POLLIN);
  if (!take_what_is_there()) give_up("the server has closed");
}

void Inbox::drop(std::size_t count) {
  begin_ += count;
  if (begin_ == end_) begin_ = end_ = 0;
}

std::string_view Inbox::line() {
  drop(std::exchange(spent_, 0));
  for (std::size_t seen = 0;;) {
    const std::size_t end = bytes().find('\n', seen);
    if (end != std::string_view::npos) {
      spent_ = end + 1;
      return bytes().substr(0, end);
    }
    seen = bytes().size();
    fill();
  }
}

// ---- LineServer ----

LineServer::LineServer(const std::vector<std::string>& command) {
  int to[2], from[2];
  if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0) give_up("no pipe");
  pid_ = ::fork();
  if (pid_ == 0) {
    ::dup2(to[0], 0);
    ::dup2(from[1], 1);
    ::dup2(::open("/dev/null", O_WRONLY | O_CLOEXEC), 2);
    std::vector<char*> words;
    for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    ::execvp(words[0], words.data());
    ::_exit(127);
  }
  if (pid_ < 0) give_up("cannot fork");
  ::close(to[0]);
  ::close(from[1]);
  in_ = to[1];
  out_ = from[0];
  inbox_.attach(out_);
}

// Its input ends, and so should it; what does not is told to, then made to.
LineServer::~LineServer() {
  ::close(in_);
  for (int i = 0; i < 60; ++i) {
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) break;
    if (i == 40) ::kill(pid_, SIGTERM);
    if (i == 59) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    ::usleep(50000);
  }
  ::close(out_);
}

void LineServer::tell(std::string_view line) { write_all(in_, line); }

std::string_view LineServer::answer(long id, double& arrived) {
  for (;;) {
    const std::string_view line = inbox_.line();
    arrived = wall_us();
    if (answers(line, id)) return line;
  }
}

double LineServer::greet() {
  tell(
      R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}})"
      "\n");
  double arrived = 0;
  answer(1, arrived);
  tell("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
  return arrived;
}

// ---- HttpConnection ----

HttpConnection::HttpConnection(int port) {
  fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    give_up("cannot connect to port " + std::to_string(port));
  const int on = 1;
  ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::fcntl(fd_, F_SETFL, O_NONBLOCK);
  inbox_.attach(fd_);
}

HttpConnection::HttpConnection(HttpConnection&& other) noexcept : fd_(std::exchange(other.fd_, -1)), inbox_(std::move(other.inbox_)) {}

HttpConnection::~HttpConnection() {
  if (fd_ >= 0) ::close(fd_);
}

void HttpConnection::send(std::string_view request) { write_all(fd_, request); }

bool HttpConnection::whole(HttpAnswer& out) const {
  const std::string_view bytes = inbox_.bytes();
  const std::size_t end = bytes.find("\r\n\r\n");
  if (end == std::string_view::npos) return false;
  const std::string_view head = bytes.substr(0, end + 2);
  out.head_bytes = end + 4;
  std::from_chars(bytes.data() + 9, bytes.data() + 12, out.status);
  const std::string_view rest = bytes.substr(out.head_bytes);
  const long length = header_number(head, "\r\ncontent-length:");
  out.body_bytes = length >= 0 ? static_cast<std::size_t>(length) : chunked_bytes(rest);
  if (length < 0 && out.body_bytes == 0) return false;
  if (rest.size() < out.body_bytes) return false;
  out.body = rest.substr(0, out.body_bytes);
  return true;
}

}  // namespace weir::bench
