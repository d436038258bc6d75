#include "cli/sandbox_probe.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <thread>

namespace weir::cli {
namespace {

std::string_view named(long answer) { return answer >= 0 ? "done" : strerrorname_np(errno); }

// What it makes, it removes: a kernel may allow it.
long opened(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (fd < 0) return fd;
  ::close(fd);
  if ((flags & O_CREAT) != 0) ::unlink(path.c_str());
  return 0;
}

long run_program(bool by_descriptor) {
  char name[] = "true";
  char* const words[] = {name, nullptr};
  char* const none[] = {nullptr};
  return by_descriptor ? ::syscall(SYS_execveat, AT_FDCWD, "/bin/true", words, none, 0) : ::execve("/bin/true", words, none);
}

long look_into(pid_t process) {
  char here = 0;
  const iovec local{&here, 1}, remote{&here, 1};
  return ::process_vm_readv(process, &local, 1, &remote, 1, 0);
}

}  // namespace

SandboxProbe::SandboxProbe() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
SandboxProbe::~SandboxProbe() { ::close(socket_); }

json::Value SandboxProbe::try_all(const std::string& inside, json::Arena& arena) const {
  sockaddr_in discard{};
  discard.sin_family = AF_INET;
  discard.sin_port = htons(9);
  discard.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto connect = [&] { return long{::connect(socket_, reinterpret_cast<const sockaddr*>(&discard), sizeof discard)}; };
  const std::pair<std::string_view, std::function<long()>> acts[] = {
      {"execve", [] { return run_program(false); }},
      {"execveat", [] { return run_program(true); }},
      {"ptrace", [] { return ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr); }},
      {"process_vm_readv", [] { return look_into(::getpid()); }},
      {"connect", connect},
      {"socket", [] { return long{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)}; }},
      {"io_uring", [] { return ::syscall(SYS_io_uring_setup, 0, nullptr); }},
      {"open_outside", [] { return opened("/etc/passwd", O_RDONLY); }},
      {"list_outside", [] { return opened("/etc", O_RDONLY | O_DIRECTORY); }},
      {"make_outside", [] { return opened("/tmp/weir-sandbox-probe", O_WRONLY | O_CREAT | O_EXCL); }},
      {"write_inside", [&] { return opened(inside + "/weir-sandbox-probe", O_WRONLY | O_CREAT | O_EXCL); }},
      {"list_inside", [&] { return opened(inside, O_RDONLY | O_DIRECTORY); }},
  };
  json::ObjectBuilder out(arena);
  for (const auto& [name, act] : acts) out.add(name, named(act()));
  // A thread that is started now has given up the same.
  std::string_view in_thread;
  std::thread([&] { in_thread = named(opened("/etc/passwd", O_RDONLY)); }).join();
  return out.add("open_outside_in_a_thread", in_thread).build();
}

}  // namespace weir::cli
