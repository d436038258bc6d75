#include "cli/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/sync_watch.h"
#include "cli/run.h"

namespace weir::cli {
namespace {

constexpr int kMostLinks = 40;  // as the kernel has it

constexpr std::size_t kMostWaiting = 1 << 16;

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

Result<OutputFile> OutputFile::open(Files& files, Random& random, const std::string& path) {
  TRY_DO(check_output(path));
  struct stat st, out;
  const bool there = ::stat(path.c_str(), &st) == 0;
  // /dev/stdout, sent to a file: that one may have been opened to be added to.
  const bool stdout_itself = there && ::fstat(STDOUT_FILENO, &out) == 0 && st.st_dev == out.st_dev && st.st_ino == out.st_ino;
  const bool replaced = !there || (S_ISREG(st.st_mode) && !stdout_itself);
  const std::string target = replaced ? without_links(path) : "";
  const std::string written = replaced ? fmt::format("{}.weir-{:016x}", target, random.next()) : path;
  const int fd = stdout_itself && S_ISREG(st.st_mode) ? ::dup(STDOUT_FILENO)
                 : replaced                           ? ::open(written.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)
                                                      : ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0 && errno == EINTR) return Error(ErrorCode::CANCELLED, "interrupted");
  if (fd < 0) return storage_error(replaced ? "cannot create" : "cannot open", written, errno);
  return OutputFile(files, written, target, fd);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : files_(other.files_),
      path_(other.path_),
      target_(other.target_),
      fd_(std::exchange(other.fd_, -1)),
      waiting_(std::move(other.waiting_)) {}

OutputFile::~OutputFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  if (!target_.empty()) (void)files_.remove(path_);
}

Result<void> OutputFile::add(std::string_view bytes) {
  waiting_ += bytes;
  return waiting_.size() < kMostWaiting ? Result<void>() : flush();
}

Result<void> OutputFile::flush() {
  std::string_view bytes = waiting_;
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno != EINTR) {
      return storage_error("cannot write", path_, errno);
    } else if (pending_signal() != 0) {
      return Error(ErrorCode::CANCELLED, "interrupted");
    }
  }
  waiting_.clear();
  return {};
}

Result<void> OutputFile::finish() {
  TRY_DO(flush());
  if (!target_.empty()) {
    if (weir_watched_fsync(fd_) != 0) return storage_error("cannot sync", path_, errno);
    TRY_DO(files_.rename(path_, target_));
  }
  ::close(std::exchange(fd_, -1));
  return {};
}

}  // namespace weir::cli
