#include "suite/http.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

namespace weir::suite {
namespace {

bool read_more(int connection, std::string& buffer) {
  char part[65536];
  const ssize_t n = ::read(connection, part, sizeof part);
  if (n <= 0) return false;
  buffer.append(part, static_cast<std::size_t>(n));
  return true;
}

// What follows `name`, which ends in a colon, on its line; empty without such a line. The request line names no header.
std::string header(const std::string& head, const std::string& name) {
  for (std::size_t at = head.find("\r\n"); at != std::string::npos; at = head.find("\r\n", at)) {
    at += 2;
    if (::strncasecmp(head.c_str() + at, name.c_str(), name.size()) != 0) continue;
    const std::size_t value = head.find_first_not_of(' ', at + name.size());
    return head.substr(value, head.find("\r\n", value) - value);
  }
  return {};
}

bool write_all(int connection, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::send(connection, text.data() + done, text.size() - done, MSG_NOSIGNAL);
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

// Until the client goes, or asked for one answer only.
void talk(int connection, const std::function<std::string(const std::string&)>& answer) {
  std::string buffer;
  for (;;) {
    std::size_t end = buffer.find("\r\n\r\n");
    while (end == std::string::npos) {
      if (!read_more(connection, buffer)) return;
      end = buffer.find("\r\n\r\n");
    }
    const std::string head = buffer.substr(0, end + 2);
    const std::size_t length = std::strtoul(header(head, "content-length:").c_str(), nullptr, 10);
    const bool last = ::strcasecmp(header(head, "connection:").c_str(), "close") == 0;
    while (buffer.size() < end + 4 + length) {
      if (!read_more(connection, buffer)) return;
    }
    const std::string body = answer(buffer.substr(end + 4, length));
    buffer.erase(0, end + 4 + length);
    const std::string status = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
                               (last ? "\r\nConnection: close" : "") + "\r\n\r\n";
    if (!write_all(connection, status + body) || last) return;
  }
}

}  // namespace

int serve(const std::function<std::string(const std::string&)>& answer) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (listener < 0 || ::bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listener, 16) != 0 ||
      ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    std::perror("listen");
    return 1;
  }
  std::fprintf(stdout, "%d\n", ntohs(address.sin_port));
  std::fflush(stdout);
  std::mutex one;
  const auto in_turn = [&](const std::string& body) {
    const std::lock_guard lock(one);
    return answer(body);
  };
  for (;;) {
    const int connection = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    std::thread([&in_turn, connection] {
      talk(connection, in_turn);
      ::close(connection);
    }).detach();
  }
}

}  // namespace weir::suite
