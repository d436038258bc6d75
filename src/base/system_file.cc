#include "base/system_file.h"

#include <unistd.h>

#include <cerrno>

namespace weir {
namespace {

class SystemFile final : public ReadableFile {
 public:
  SystemFile(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

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
    return to_file_stat(st);
  }

 private:
  Fd fd_;
  std::string path_;
};

}  // namespace

Fd::~Fd() {
  if (fd_ >= 0) ::close(fd_);
}

FileStat to_file_stat(const struct stat& st) {
  FileStat out;
  out.kind = S_ISREG(st.st_mode) ? FileStat::Kind::regular : S_ISDIR(st.st_mode) ? FileStat::Kind::directory : FileStat::Kind::other;
  out.size = static_cast<std::uint64_t>(st.st_size);
  out.device = st.st_dev;
  out.inode = st.st_ino;
  out.links = st.st_nlink;
  out.mode = st.st_mode & 07777;
  out.uid = st.st_uid;
  out.modified_ms = static_cast<std::int64_t>(st.st_mtim.tv_sec) * 1000 + st.st_mtim.tv_nsec / 1000000;
  return out;
}

std::unique_ptr<ReadableFile> system_file(Fd fd, std::string path) { return std::make_unique<SystemFile>(std::move(fd), std::move(path)); }

}  // namespace weir
