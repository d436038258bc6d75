#include "base/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/limits.h"
#include "base/sync_watch.h"

namespace weir {
namespace {

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }

 private:
  int fd_;
};

FileStat to_stat(const struct stat& st) {
  FileStat out;
  out.kind = S_ISREG(st.st_mode) ? FileStat::Kind::regular : S_ISDIR(st.st_mode) ? FileStat::Kind::directory : FileStat::Kind::other;
  out.size = static_cast<std::uint64_t>(st.st_size);
  out.device = st.st_dev;
  out.inode = st.st_ino;
  out.mode = st.st_mode & 07777;
  out.uid = st.st_uid;
  out.modified_ms = static_cast<std::int64_t>(st.st_mtim.tv_sec) * 1000 + st.st_mtim.tv_nsec / 1000000;
  return out;
}

class SystemFile final : public ReadableFile {
 public:
  SystemFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}

  Result<std::size_t> read(char* buffer, std::size_t size) override {
    for (;;) {
      const ssize_t n = ::read(fd_.get(), buffer, size);
      if (n >= 0) return static_cast<std::size_t>(n);
      if (errno != EINTR) return storage_error("cannot read", path_, errno);
    }
  }
  Result<void> seek(std::uint64_t offset) override {
    if (::lseek(fd_.get(), static_cast<off_t>(offset), SEEK_SET) < 0) return storage_error("cannot seek in", path_, errno);
    return {};
  }
  Result<FileStat> stat() override {
    struct stat st;
    if (::fstat(fd_.get(), &st) != 0) return storage_error("cannot stat", path_, errno);
    return to_stat(st);
  }

 private:
  Fd fd_;
  std::string path_;
};

class SystemFiles final : public Files {
 public:
  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override {
    // O_NONBLOCK: opening a FIFO that nobody writes to must not hang.
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) return storage_error("cannot open", path, errno);
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    auto file = std::make_unique<SystemFile>(fd, path);
    TRY(const FileStat st, file->stat());
    if (st.kind == FileStat::Kind::directory) return storage_error("cannot read", path, EISDIR);
    return std::unique_ptr<ReadableFile>(std::move(file));
  }

  Result<FileStat> stat(const std::string& path) override {
    struct stat st;
    if (::lstat(path.c_str(), &st) != 0) return storage_error("cannot stat", path, errno);
    return to_stat(st);
  }

  Result<std::vector<std::string>> list(const std::string& directory) override {
    DIR* dir = ::opendir(directory.c_str());
    if (dir == nullptr) return storage_error("cannot list", directory, errno);
    std::vector<std::string> names;
    const dirent* e;
    while (errno = 0, (e = ::readdir(dir)) != nullptr) {
      const std::string_view name = e->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
    const int error = errno;
    ::closedir(dir);
    if (error != 0) return storage_error("cannot list", directory, error);
    std::sort(names.begin(), names.end());
    return names;
  }

  Result<void> write_synced(const std::string& path, std::string_view bytes) override {
    const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd.ok()) return storage_error("cannot create", path, errno);
    if (::fchmod(fd.get(), 0600) != 0) return storage_error("cannot set the mode of", path, errno);
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd.get(), bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return storage_error("cannot write", path, errno);
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    if (weir_watched_fsync(fd.get()) != 0) return storage_error("cannot sync", path, errno);
    return {};
  }

  Result<void> rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) return storage_error("cannot rename", from, errno);
    return {};
  }

  Result<void> sync_directory(const std::string& path) override {
    const Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd.ok()) return storage_error("cannot open", path, errno);
    if (weir_watched_fsync(fd.get()) != 0) return storage_error("cannot sync", path, errno);
    return {};
  }

  Result<void> make_directory(const std::string& path) override {
    if (::mkdir(path.c_str(), 0700) == 0) {
      if (::chmod(path.c_str(), 0700) != 0) return storage_error("cannot set the mode of", path, errno);
      return {};
    }
    const int error = errno;
    struct stat st;
    if (error == EEXIST && ::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode)) return {};
    return storage_error("cannot make directory", path, error);
  }

  Result<void> remove(const std::string& path) override {
    if (::remove(path.c_str()) != 0) return storage_error("cannot remove", path, errno);
    return {};
  }

  Result<void> change_mode(const std::string& path, unsigned mode) override {
    if (::chmod(path.c_str(), mode) != 0) return storage_error("cannot set the mode of", path, errno);
    return {};
  }

  Result<int> percent_full(const std::string& path) override {
    struct statvfs st;
    if (::statvfs(path.c_str(), &st) != 0) return storage_error("cannot stat the file system of", path, errno);
    const double used = static_cast<double>(st.f_blocks - st.f_bfree), usable = used + static_cast<double>(st.f_bavail);
    return usable <= 0 ? 0 : static_cast<int>(100.0 * used / usable);
  }
};

}  // namespace

Error storage_error(std::string_view what, const std::string& path, int error) {
  const ErrorCode code = error == ENOENT || error == ENOTDIR ? ErrorCode::NOT_FOUND : ErrorCode::STORAGE;
  return Error(code, std::string(what) + " '" + path + "': " + std::strerror(error)).with("path", path).with("errno", std::int64_t{error});
}

Result<std::string> Files::read(const std::string& path, std::size_t most) {
  TRY(auto file, open(path));
  std::string out;
  for (;;) {
    const std::size_t have = out.size();
    out.resize(have + 64 * limits::kKiB);
    TRY(const std::size_t n, file->read(out.data() + have, out.size() - have));
    out.resize(have + n);
    if (out.size() > most) return over_limit("bytes of '" + path + "'", most, out.size());
    if (n == 0) return out;
  }
}

Result<void> Files::make_directories(const std::string& path) {
  std::size_t above = path.starts_with("/") ? 0 : std::string::npos;  // the slash before the name at hand
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string directory = path.substr(0, slash);
    const bool there = stat(directory).ok();
    if (!there || slash == std::string::npos) TRY_DO(make_directory(directory));
    if (!there) TRY_DO(sync_directory(above == std::string::npos ? "." : above == 0 ? "/" : path.substr(0, above)));
    if (slash == std::string::npos) return {};
    above = slash;
  }
}

Files& system_files() {
  static SystemFiles files;
  return files;
}

}  // namespace weir
