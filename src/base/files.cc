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
#include "base/memory.h"
#include "base/sync_watch.h"
#include "base/system_file.h"

namespace weir {
namespace {

class SystemFiles final : public Files {
 public:
  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override {
    // O_NONBLOCK: opening a FIFO that nobody writes to must not hang.
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) return storage_error("cannot open", path, errno);
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    auto file = system_file(Fd(fd), path);
    TRY(const FileStat st, file->stat());
    if (st.kind == FileStat::Kind::directory) return storage_error("cannot read", path, EISDIR);
    return file;
  }

  Result<FileStat> stat(const std::string& path) override {
    struct stat st;
    if (::lstat(path.c_str(), &st) != 0) return storage_error("cannot stat", path, errno);
    return to_file_stat(st);
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
    TRY(const Fd fd, create(path, bytes));
    if (weir_watched_fsync(fd.get()) != 0) return storage_error("cannot sync", path, errno);
    return {};
  }

  Result<void> write_new(const std::string& path, std::string_view bytes) override {
    TRY_DO(create(path, bytes));
    return {};
  }

  Result<void> sync_file_system(const std::string& path) override {
    const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.ok()) return storage_error("cannot open", path, errno);
    if (::syncfs(fd.get()) != 0) return storage_error("cannot sync the file system of", path, errno);
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

 private:
  static Result<Fd> create(const std::string& path, std::string_view bytes) {
    Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd.ok()) return storage_error("cannot create", path, errno);
    if (::fchmod(fd.get(), 0600) != 0) return storage_error("cannot set the mode of", path, errno);
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd.get(), bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return storage_error("cannot write", path, errno);
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return fd;
  }
};

}  // namespace

Error storage_error(std::string_view what, const std::string& path, int error) {
  const ErrorCode code = error == ENOENT || error == ENOTDIR ? ErrorCode::NOT_FOUND : used_up(error) ? ErrorCode::BUSY : ErrorCode::STORAGE;
  const char* const advice =
      error == EMFILE || error == ENFILE ? "; try again when fewer files are open, or with a higher limit (ulimit -n)" : "";
  return Error(code, std::string(what) + " '" + path + "': " + std::strerror(error) + advice)
      .with("path", path)
      .with("errno", std::int64_t{error});
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
