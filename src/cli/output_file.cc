#include "cli/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "cli/run.h"

namespace weir::cli {
namespace {

constexpr int kMostLinks = 40;  // as the kernel has it

Result<void> write_to(const std::string& path, std::string_view bytes) {
  const int fd = path == "-" ? ::dup(STDOUT_FILENO) : ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0 && errno == EINTR) return Error(ErrorCode::CANCELLED, "interrupted");
  if (fd < 0) return storage_error("cannot open", path, errno);
  int error = 0;
  while (!bytes.empty() && error == 0) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno != EINTR || pending_signal() != 0) {
      error = errno;
    }
  }
  ::close(fd);
  if (error == EINTR) return Error(ErrorCode::CANCELLED, "interrupted");
  return error == 0 ? Result<void>() : storage_error("cannot write", path, error);
}

// The path with the links at its end followed; the last one may name a file that is not there yet.
std::string without_links(std::filesystem::path path) {
  std::error_code error;
  for (int i = 0; i < kMostLinks; ++i) {
    const std::filesystem::path target = std::filesystem::read_symlink(path, error);
    if (error) break;
    path = target.is_absolute() ? target : path.parent_path() / target;
  }
  return path.string();
}

}  // namespace

Result<void> check_output(const std::string& path) {
  struct stat st;
  if (::stat(path.c_str(), &st) != 0 || !S_ISDIR(st.st_mode)) return {};
  return Error(ErrorCode::INVALID_FIELD, "'" + path + "' is a directory").with_fields({{"/output", "is a directory"}});
}

Result<void> write_output(Files& files, Random& random, const std::string& path, std::string_view bytes) {
  TRY_DO(check_output(path));
  struct stat st, out;
  const bool there = ::stat(path.c_str(), &st) == 0;
  if (there && !S_ISREG(st.st_mode)) return write_to(path, bytes);
  // /dev/stdout, sent to a file: that one may have been opened to be added to.
  if (there && ::fstat(STDOUT_FILENO, &out) == 0 && st.st_dev == out.st_dev && st.st_ino == out.st_ino) return write_to("-", bytes);
  const std::string target = without_links(path);
  const std::string temporary = fmt::format("{}.weir-{:016x}", target, random.next());
  auto written = files.write_synced(temporary, bytes);
  if (written.ok()) written = files.rename(temporary, target);
  if (!written.ok()) (void)files.remove(temporary);
  return written;
}

}  // namespace weir::cli
