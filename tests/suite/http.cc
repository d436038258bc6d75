#include "suite/http.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace weir::suite {
namespace {

bool read_more(int connection, std::string& buffer) {
  char part[65536];
  const ssize_t n = ::read(connection, part, sizeof part);
  if (n <= 0) return false;
  buffer.append(part, static_cast<std::size_t>(n));
  return true;
}

std::size_t content_length(const std::string& head) {
  for (std::size_t at = 0; at != std::string::npos; at = head.find("\r\n", at)) {
    if (at != 0) at += 2;
    constexpr char kName[] = "content-length:";
    if (::strncasecmp(head.c_str() + at, kName, sizeof kName - 1) == 0)
      return std::strtoul(head.c_str() + at + sizeof kName - 1, nullptr, 10);
    if (at == 0) at = 1;
  }
  return 0;
}

bool write_all(int connection, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::write(connection, text.data() + done, text.size() - done);
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

// Until the client goes.
void talk(int connection, const std::function<std::string(const std::string&)>& answer) {
  std::string buffer;
  for (;;) {
    std::size_t end = buffer.find("\r\n\r\n");
    while (end == std::string::npos) {
      if (!read_more(connection, buffer)) return;
      end = buffer.find("\r\n\r\n");
    }
    const std::size_t length = content_length(buffer.substr(0, end + 2));
    while (buffer.size() < end + 4 + length) {
      if (!read_more(connection, buffer)) return;
    }
    const std::string body = answer(buffer.substr(end + 4, length));
    buffer.erase(0, end + 4 + length);
    const std::string head =
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n";
    if (!write_all(connection, head + body)) return;
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
  for (;;) {
    const int connection = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    talk(connection, answer);
    ::close(connection);
  }
}

}  // namespace weir::suite
