#include "base/sandbox.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/files.h"
#include "base/system_file.h"

namespace weir {
namespace {

// ---- Landlock ----

// Renaming from one directory into another, which blobs need, is refused altogether before version 2.
constexpr int kLeastLandlock = 2;

// Names that the system's header may be too old for.
constexpr std::uint64_t kTruncate = 1U << 14, kDeviceIoctl = 1U << 15;
constexpr std::uint64_t kBindTcp = 1U << 0, kConnectTcp = 1U << 1;
constexpr std::uint64_t kAbstractSocket = 1U << 0, kSignal = 1U << 1;

constexpr std::uint64_t kReading = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kWriting = kReading | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                                   LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                                   LANDLOCK_ACCESS_FS_REFER | kTruncate;
constexpr std::uint64_t kSocket = LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_REMOVE_FILE;
// Of these alone a rule about a file may speak.
constexpr std::uint64_t kOfFiles =
    LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE | kTruncate | kDeviceIoctl;

struct Ruleset {
  std::uint64_t files, net, scoped;
};

// All that this version of the interface can refuse.
Ruleset refusable(int version) {
  Ruleset out{};
  out.files = (1U << 14) - 1;  // 13 kinds of version 1, and LANDLOCK_ACCESS_FS_REFER
  if (version >= 3) out.files |= kTruncate;
  if (version >= 4) out.net = kBindTcp | kConnectTcp;
  if (version >= 5) out.files |= kDeviceIoctl;
  if (version >= 6) out.scoped = kAbstractSocket | kSignal;
  return out;
}

int landlock_version() {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return version >= kLeastLandlock ? static_cast<int>(version) : 0;
}

Error refused(std::string_view what, int error) {
  return Error(ErrorCode::STORE_UNUSABLE, "the kernel refuses " + std::string(what) + ": " + std::strerror(error))
      .with("errno", std::int64_t{error});
}

Result<void> allow(const Fd& ruleset, const std::string& path, std::uint64_t rights) {
  const Fd place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat st;
  if (!place.ok() || ::fstat(place.get(), &st) != 0) return {};
  landlock_path_beneath_attr rule{};
  rule.allowed_access = S_ISDIR(st.st_mode) ? rights : rights & kOfFiles;
  rule.parent_fd = place.get();
  if (::syscall(SYS_landlock_add_rule, ruleset.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0)
    return refused("a rule about '" + path + "'", errno);
  return {};
}

// Without it neither half may be asked for, and a program with other rights could be run out of them.
Result<void> gain_no_privileges() {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return refused("no_new_privs", errno);
  return {};
}

// ---- seccomp ----

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
constexpr std::uint32_t kFirstForeign = 0x40000000;  // the same calls once more, as x32
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
constexpr std::uint32_t kFirstForeign = 0xFFFFFFFF;
#else
constexpr std::uint32_t kArchitecture = 0;  // calls are not known by number here
constexpr std::uint32_t kFirstForeign = 0;
#endif

constexpr long kRefusedCalls[] = {
    // other programs
    SYS_execve, SYS_execveat,
    // other processes
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_pidfd_getfd,
    // ways out; a connection can be begun by a ring as well, which no filter sees
    SYS_connect, SYS_socket, SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register,
    // ways around
    SYS_open_by_handle_at, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_unshare, SYS_setns, SYS_bpf, SYS_perf_event_open,
    SYS_userfaultfd, SYS_init_module, SYS_finit_module, SYS_kexec_load};

// Calls of a foreign architecture and those of the table fail with EPERM, all others go on.
std::vector<sock_filter> filter() {
  constexpr std::uint32_t kRefuse = SECCOMP_RET_ERRNO | EPERM;
  std::vector<sock_filter> out;
  const auto load = [&](std::uint32_t offset) { out.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)); };
  const auto answer = [&](std::uint32_t what) { out.push_back(BPF_STMT(BPF_RET | BPF_K, what)); };
  load(offsetof(seccomp_data, arch));
  out.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0));
  answer(kRefuse);
  load(offsetof(seccomp_data, nr));
  out.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kFirstForeign, 0, 1));
  answer(kRefuse);
  for (const long call : kRefusedCalls) {
    out.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1));
    answer(kRefuse);
  }
  answer(SECCOMP_RET_ALLOW);
  return out;
}

bool seccomp_there() {
  std::uint32_t action = SECCOMP_RET_ERRNO;
  return kArchitecture != 0 && ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

}  // namespace

SandboxSupport sandbox_support() { return {landlock_version(), seccomp_there()}; }

Result<bool> confine_files(const SandboxFiles& files) {
  const int version = landlock_version();
  if (version == 0) return false;
  Ruleset wanted = refusable(version);
  if (files.listens) wanted.net &= ~kBindTcp;
  const Fd ruleset(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &wanted, sizeof wanted, 0)));
  if (!ruleset.ok()) return refused("a set of rules", errno);
  for (const std::string& path : files.read) TRY_DO(allow(ruleset, path, kReading & wanted.files));
  for (const std::string& path : files.write) TRY_DO(allow(ruleset, path, kWriting & wanted.files));
  if (!files.socket_directory.empty()) TRY_DO(allow(ruleset, files.socket_directory, kSocket));
  TRY_DO(gain_no_privileges());
  if (::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0) return refused("to confine files", errno);
  return true;
}

Result<bool> confine_calls() {
  if (!seccomp_there()) return false;
  std::vector<sock_filter> code = filter();
  sock_fprog program{};
  program.len = static_cast<unsigned short>(code.size());
  program.filter = code.data();
  TRY_DO(gain_no_privileges());
  // Above 0: the thread that has a filter of its own already.
  const long done = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
  if (done != 0) return refused("a filter of system calls", done < 0 ? errno : EBUSY);
  return true;
}

}  // namespace weir
