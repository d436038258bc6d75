#include "http/listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/files.h"

namespace weir::http {
namespace {

constexpr int kBacklog = 512;
constexpr std::string_view kUnix = "unix:";

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
  std::string host;  // as it stands in a URL
};

// Why an address cannot be had, and what to do about it.
Error unusable(const std::string& listen, int number) {
  const std::string what = "cannot listen on '" + listen + "': " + std::strerror(number);
  const auto error = [&](ErrorCode code, const std::string& advice) {
    return Error(code, what + "; " + advice).with("listen", listen).with("errno", std::int64_t{number});
  };
  switch (number) {
    case EADDRINUSE:
      return error(ErrorCode::BUSY,
                   "another program has that address: stop it, or name another port; --listen 127.0.0.1:0 takes a free one");
    case EEXIST:
      return error(ErrorCode::BUSY, "something else is at that path: remove it, or name another");
    case EACCES:
    case EPERM:
      return error(ErrorCode::DENIED,
                   "the system does not let this user listen there: take a port above 1023, or a path in a directory of yours");
    case EADDRNOTAVAIL:
    case EAFNOSUPPORT:
      return error(ErrorCode::INVALID_FIELD, "this machine has no such address")
          .with_fields({{"/listen", "is no address of this machine"}});
    default:
      return storage_error("cannot listen on", listen, number).with("listen", listen);
  }
}

Error no_address(const std::string& listen) {
  const std::string why = "is ADDRESS:PORT, with a port up to 65535, or unix:PATH, not '" + listen + "'";
  return Error(ErrorCode::INVALID_FIELD, "/listen: " + why).with_fields({{"/listen", why}});
}

Result<Address> tcp_address(const std::string& listen) {
  const std::size_t colon = listen.rfind(':');
  if (colon == std::string::npos) return no_address(listen);
  std::string host = listen.substr(0, colon);
  const std::string_view port_text = std::string_view(listen).substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(port_text.data(), port_text.data() + port_text.size(), port);
  if (error != std::errc() || end != port_text.data() + port_text.size()) return no_address(listen);
  Address out;
  out.host = host;
  if (host == "localhost") host = "127.0.0.1";
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    sockaddr_in6 in{};
    in.sin6_family = AF_INET6;
    in.sin6_port = htons(port);
    if (::inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &in.sin6_addr) != 1) return no_address(listen);
    std::memcpy(&out.storage, &in, sizeof in);
    out.size = sizeof in;
    return out;
  }
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_port = htons(port);
  if (::inet_pton(AF_INET, host.c_str(), &in.sin_addr) != 1) return no_address(listen);
  std::memcpy(&out.storage, &in, sizeof in);
  out.size = sizeof in;
  return out;
}

Result<Address> unix_address(const std::string& listen) {
  const std::string path = listen.substr(kUnix.size());
  sockaddr_un un{};
  if (path.empty() || path.size() >= sizeof un.sun_path) return no_address(listen);
  un.sun_family = AF_UNIX;
  std::memcpy(un.sun_path, path.c_str(), path.size() + 1);
  Address out;
  std::memcpy(&out.storage, &un, sizeof un);
  out.size = sizeof un;
  return out;
}

// A socket left by somebody who died is in the way; one that is answered is somebody's.
Result<void> make_way(const std::string& listen, const Address& address) {
  struct stat st{};
  const std::string path = listen.substr(kUnix.size());
  if (::lstat(path.c_str(), &st) != 0) return {};
  if (!S_ISSOCK(st.st_mode) || st.st_uid != ::geteuid()) return unusable(listen, EEXIST);
  const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool answered = probe >= 0 && ::connect(probe, reinterpret_cast<const sockaddr*>(&address.storage), address.size) == 0;
  if (probe >= 0) ::close(probe);
  if (answered) return unusable(listen, EADDRINUSE);
  return ::unlink(path.c_str()) == 0 || errno == ENOENT ? Result<void>() : unusable(listen, errno);
}

std::uint16_t bound_port(int descriptor) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return 0;
  if (storage.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port);
  return ntohs(reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
}

}  // namespace

Result<std::unique_ptr<Listener>> Listener::open(const std::string& listen) {
  std::unique_ptr<Listener> out(new Listener);
  out->tcp_ = !listen.starts_with(kUnix);
  TRY(const Address address, out->tcp_ ? tcp_address(listen) : unix_address(listen));
  if (!out->tcp_) TRY_DO(make_way(listen, address));
  out->descriptor_ = ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (out->descriptor_ < 0) return unusable(listen, errno);
  const int one = 1;
  if (out->tcp_) ::setsockopt(out->descriptor_, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  // Of a socket in the file system the mode is set before it has a name, so that nobody is ever quicker.
  if (!out->tcp_ && ::fchmod(out->descriptor_, 0600) != 0) return unusable(listen, errno);
  if (::bind(out->descriptor_, reinterpret_cast<const sockaddr*>(&address.storage), address.size) != 0) return unusable(listen, errno);
  if (!out->tcp_) {
    out->path_ = listen.substr(kUnix.size());
    if (::chmod(out->path_.c_str(), 0600) != 0) return unusable(listen, errno);
  }
  if (::listen(out->descriptor_, kBacklog) != 0) return unusable(listen, errno);
  out->url_ = out->tcp_ ? "http://" + address.host + ":" + std::to_string(bound_port(out->descriptor_)) : listen;
  return out;
}

Listener::~Listener() { close(); }

void Listener::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
  if (!path_.empty()) ::unlink(path_.c_str());
  path_.clear();
}

int Listener::accept() {
  if (descriptor_ < 0) return kNone;
  const int descriptor = ::accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (descriptor < 0) return errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM ? kExhausted : kNone;
  const int one = 1;
  if (tcp_) ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return descriptor;
}

}  // namespace weir::http
