#include "base/read_door.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string_view>

#include "base/paths.h"

namespace weir {
namespace {

constexpr int kTries = 4;  // a path that changes under every one of them is refused
constexpr std::string_view kDeleted = " (deleted)";

struct SystemError {
  int number;
  ErrorCode code;
  std::string_view text;  // as Node says it, which pi hands on
};

constexpr SystemError kSystemErrors[] = {
    {ENOENT, ErrorCode::NOT_FOUND, "ENOENT: no such file or directory"},
    {ENOTDIR, ErrorCode::NOT_FOUND, "ENOTDIR: not a directory"},
    {ELOOP, ErrorCode::NOT_FOUND, "ELOOP: too many symbolic links encountered"},
    {ENAMETOOLONG, ErrorCode::NOT_FOUND, "ENAMETOOLONG: name too long"},
    {EACCES, ErrorCode::ACCESS_DENIED, "EACCES: permission denied"},
    {EPERM, ErrorCode::ACCESS_DENIED, "EPERM: operation not permitted"},
};

Error not_regular(const std::string& path, std::string_view what) {
  return Error(ErrorCode::NOT_REGULAR, fmt::format("'{}' is no regular file but {}", path, what)).with("path", path);
}

Error open_error(const std::string& path, int number) {
  if (number == EXDEV) return Error(ErrorCode::OUTSIDE_ROOTS, fmt::format("'{}' is outside the allowed roots", path)).with("path", path);
  if (number == ENXIO || number == ENODEV) return not_regular(path, "a socket or a device");
  for (const SystemError& known : kSystemErrors) {
    if (known.number == number) return Error(known.code, fmt::format("{}, access '{}'", known.text, path)).with("path", path);
  }
  return storage_error("cannot open", path, number);
}

std::string_view kind_name(mode_t mode) { return S_ISFIFO(mode) ? "a FIFO" : S_ISSOCK(mode) ? "a socket" : "a device"; }

// Somebody changed the path between two looks at it.
bool changed(int error) { return error == EXDEV || error == EAGAIN || error == ELOOP || error == ENOENT || error == ENOTDIR; }

}  // namespace

Result<ReadDoor> ReadDoor::make(const std::vector<std::string>& roots, Options options) {
  ReadDoor door(options);
  door.options_.by_component = options.by_component || !kernel_has_openat2();
  for (const std::string& root : roots) {
    Fd fd(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!fd.ok()) return storage_error("cannot open the root", root, errno);
    std::string canonical = name_of(fd);
    std::string given = root.starts_with('/') ? collapse_path(root) : canonical;
    door.roots_.push_back({std::move(fd), std::move(given), std::move(canonical)});
  }
  return door;
}

Opening ReadDoor::reach(const std::string& path) const {
  const auto open_in_root = [&](const std::string& name, Links links) -> std::optional<Opening> {
    for (const Root& root : roots_) {
      auto below = path_below(name, root.canonical);
      if (!below) below = path_below(name, root.given);
      if (below) return (options_.by_component ? walk_beneath : open_beneath)(root.fd, std::string(*below), links);
    }
    return std::nullopt;
  };

  auto opening = open_in_root(path, Links::beneath);
  // An absolute link, or `..` from one root to another, may well end inside. The kernel says where; from there on no link is
  // followed, so that what is opened is what was looked up.
  for (int i = 0; i < kTries && opening && (opening->error == EAGAIN || opening->error == EXDEV); ++i) {
    const Opening place = locate(path);
    opening = place.fd.ok() ? open_in_root(name_of(place.fd), Links::none) : std::nullopt;
    if (opening && changed(opening->error)) opening->error = EAGAIN;
  }
  if (!opening || opening->error == EAGAIN) return {Fd(-1), EXDEV};
  return *std::move(opening);
}

bool ReadDoor::contains(std::string_view canonical) const {
  return std::any_of(roots_.begin(), roots_.end(), [&](const Root& root) { return path_below(canonical, root.canonical).has_value(); });
}

Result<OpenedFile> ReadDoor::open(const std::string& path) const {
  if (path.find('\0') != std::string::npos)
    return Error(ErrorCode::INVALID_FIELD, "a path holds no NUL character").with_fields({{"/path", "holds a NUL character"}});
  auto [fd, error] = reach(collapse_path(path));
  struct stat st;
  if (!fd.ok() || ::fstat(fd.get(), &st) != 0) return open_error(path, fd.ok() ? errno : error);
  if (S_ISDIR(st.st_mode)) return Error(ErrorCode::IS_DIRECTORY, "EISDIR: illegal operation on a directory, read").with("path", path);
  if (!S_ISREG(st.st_mode)) return not_regular(path, kind_name(st.st_mode));
  if (options_.refuse_hard_links && st.st_nlink > 1) {
    return Error(ErrorCode::HARD_LINK, fmt::format("'{}' has {} names, 1 is allowed", path, st.st_nlink)).with("path", path);
  }
  OpenedFile out;
  out.stat = to_file_stat(st);
  out.path = name_of(fd);
  if (!out.path.starts_with('/')) return storage_error("cannot find the name of", path, ENOENT);
  // Taken off, so that the deny list sees the name the file had.
  out.deleted = out.path.ends_with(kDeleted);
  if (out.deleted) out.path.resize(out.path.size() - kDeleted.size());
  out.file = system_file(std::move(fd), out.path);
  return out;
}

}  // namespace weir
