#include "base/unread.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstring>
#include <optional>
#include <span>
#include <thread>

namespace weir {
namespace {

// As the kernel numbers the states of TCP. A program that has closed with nothing unread leaves its connection in one of these; with
// something unread it resets it.
constexpr unsigned kFinWait2 = 5, kTimeWait = 6;

// An address as sock_diag wants it.
struct End {
  sa_family_t family = AF_UNSPEC;
  in_port_t port = 0;
  std::uint32_t address[4] = {};
};

std::optional<End> end_of(int socket, int (*name)(int, sockaddr*, socklen_t*)) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (name(socket, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return std::nullopt;
  End out{.family = storage.ss_family};
  if (storage.ss_family == AF_INET) {
    const auto& in = reinterpret_cast<const sockaddr_in&>(storage);
    out.port = in.sin_port;
    out.address[0] = in.sin_addr.s_addr;
  } else if (storage.ss_family == AF_INET6) {
    const auto& in = reinterpret_cast<const sockaddr_in6&>(storage);
    out.port = in.sin6_port;
    std::memcpy(out.address, &in.sin6_addr, sizeof out.address);
  } else if (storage.ss_family != AF_UNIX) {
    return std::nullopt;
  }
  return out;
}

// The question for the established socket of the other end, whose own address is ours to it.
struct Question {
  nlmsghdr head;
  inet_diag_req_v2 request;
};

Question question_of(const End& here, const End& there, std::uint32_t number) {
  Question out{};
  out.head = {
      .nlmsg_len = sizeof out, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST, .nlmsg_seq = number, .nlmsg_pid = 0};
  out.request.sdiag_family = static_cast<__u8>(here.family);
  out.request.sdiag_protocol = IPPROTO_TCP;
  out.request.idiag_ext = 1U << (INET_DIAG_INFO - 1);
  out.request.idiag_states = ~0U;
  out.request.id.idiag_sport = there.port;
  out.request.id.idiag_dport = here.port;
  std::memcpy(out.request.id.idiag_src, there.address, sizeof there.address);
  std::memcpy(out.request.id.idiag_dst, here.address, sizeof here.address);
  out.request.id.idiag_cookie[0] = out.request.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  return out;
}

// In the attributes of an answer.
std::optional<std::uint64_t> received_bytes(std::span<const char> attributes) {
  while (attributes.size() >= sizeof(nlattr)) {
    nlattr one;
    std::memcpy(&one, attributes.data(), sizeof one);
    if (one.nla_len < sizeof one || one.nla_len > attributes.size()) return std::nullopt;
    if (one.nla_type == INET_DIAG_INFO) {
      tcp_info info{};
      std::memcpy(&info, attributes.data() + NLA_HDRLEN, std::min<std::size_t>(sizeof info, one.nla_len - NLA_HDRLEN));
      return info.tcpi_bytes_received;
    }
    attributes = attributes.subspan(std::min<std::size_t>(NLA_ALIGN(one.nla_len), attributes.size()));
  }
  return std::nullopt;
}

}  // namespace

int unread_bytes(int descriptor) {
  struct stat st{};
  if (::fstat(descriptor, &st) != 0) return 0;
  const bool pipe = S_ISFIFO(st.st_mode), socket = S_ISSOCK(st.st_mode);
  // A device that is no terminal, as /dev/null, shows nothing to anybody.
  if (S_ISCHR(st.st_mode) && ::isatty(descriptor) == 0) return INT_MAX;
  // A socket of this machine whose other end was closed with something unread has nothing in its queue any more, but an error.
  pollfd look{descriptor, 0, 0};
  if (socket && ::poll(&look, 1, 0) == 1 && (look.revents & POLLERR) != 0) return INT_MAX;
  int bytes = 0;
  if (!pipe && !socket) return 0;
  return ::ioctl(descriptor, pipe ? FIONREAD : SIOCOUTQ, &bytes) == 0 ? bytes : 0;
}

bool wait_until_read(int descriptor, int most_ms) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::milliseconds(most_ms);
  auto pause = std::chrono::microseconds(20);
  while (unread_bytes(descriptor) > 0) {
    if (Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(2000));
  }
  return true;
}

PeerReads::PeerReads() : descriptor_(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG)) {}

PeerReads::~PeerReads() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

PeerRead PeerReads::look(int socket, std::uint64_t sent) {
  const auto here = end_of(socket, ::getsockname), there = end_of(socket, ::getpeername);
  if (!here || !there) return PeerRead::unknown;
  if (here->family == AF_UNIX) return unread_bytes(socket) == 0 ? PeerRead::all : PeerRead::not_all;
  const Question question = question_of(*here, *there, ++asked_);
  if (descriptor_ < 0 || ::send(descriptor_, &question, sizeof question, 0) != static_cast<ssize_t>(sizeof question))
    return PeerRead::unknown;
  // The kernel has answered by the time it has taken the question.
  for (;;) {
    char bytes[1024];
    nlmsghdr head;
    inet_diag_msg found;
    const ssize_t size = ::recv(descriptor_, bytes, sizeof bytes, 0);
    if (size < static_cast<ssize_t>(sizeof head)) return PeerRead::unknown;
    std::memcpy(&head, bytes, sizeof head);
    if (head.nlmsg_seq != asked_) continue;
    if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY || size < static_cast<ssize_t>(NLMSG_HDRLEN + sizeof found)) return PeerRead::unknown;
    std::memcpy(&found, bytes + NLMSG_HDRLEN, sizeof found);
    if (found.idiag_rqueue != 0) return PeerRead::not_all;
    // Bytes may be on their way from one queue to the other, and so in neither.
    const std::size_t end = std::min<std::size_t>(head.nlmsg_len, static_cast<std::size_t>(size));
    if (const auto received = received_bytes({bytes + NLMSG_HDRLEN + NLMSG_ALIGN(sizeof found), bytes + end}))
      return *received >= sent ? PeerRead::all : PeerRead::not_all;
    const bool closed = found.idiag_state == kFinWait2 || found.idiag_state == kTimeWait;
    return closed && unread_bytes(socket) == 0 ? PeerRead::all : PeerRead::not_all;
  }
}

}  // namespace weir
