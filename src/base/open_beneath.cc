#include "base/open_beneath.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <string_view>
#include <vector>

#include "base/paths.h"

namespace weir {
namespace {

constexpr int kReading = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
constexpr int kMostLinks = 40;           // as the kernel
constexpr std::size_t kMostDepth = 256;  // one descriptor each

Opening opened(int fd) { return fd >= 0 ? Opening{Fd(fd)} : Opening{Fd(-1), errno}; }
Opening failed(int error) { return {Fd(-1), error}; }

int openat2(int directory, const char* path, int flags, std::uint64_t resolve) {
  struct open_how how = {};
  how.flags = static_cast<std::uint64_t>(flags);
  how.resolve = resolve;
  return static_cast<int>(::syscall(SYS_openat2, directory, path, &how, sizeof how));
}

// Puts the components of `path` onto a stack, the first on top. A slash at the end asks for a directory, as `.` does.
void push_components(std::string_view path, std::vector<std::string>& stack) {
  if (path.ends_with('/')) stack.emplace_back(".");
  while (!path.empty()) {
    const std::size_t slash = path.rfind('/');
    const std::string_view name = path.substr(slash + 1);  // npos + 1 is 0
    if (!name.empty()) stack.emplace_back(name);
    path = path.substr(0, slash == std::string_view::npos ? 0 : slash);
  }
}

std::string link_text(int directory, const char* name) {
  char text[PATH_MAX];
  const ssize_t n = ::readlinkat(directory, name, text, sizeof text);
  return std::string(text, n < 0 ? 0 : static_cast<std::size_t>(n));
}

}  // namespace

bool kernel_has_openat2() {
  static const bool has = Fd(openat2(AT_FDCWD, "/", O_PATH | O_CLOEXEC, RESOLVE_NO_MAGICLINKS)).ok();
  return has;
}

Opening open_beneath(const Fd& directory, const std::string& relative, Links links) {
  const std::uint64_t resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | (links == Links::none ? RESOLVE_NO_SYMLINKS : 0);
  return opened(openat2(directory.get(), relative.empty() ? "." : relative.c_str(), kReading, resolve));
}

Opening walk_beneath(const Fd& directory, const std::string& relative, Links links) {
  if (relative.size() >= PATH_MAX) return failed(ENAMETOOLONG);
  std::vector<std::string> ahead;
  push_components(relative, ahead);
  std::vector<Fd> inside;  // the directories gone into; `..` goes back to the one that was really there
  const auto here = [&] { return inside.empty() ? directory.get() : inside.back().get(); };
  for (int followed = 0; !ahead.empty();) {
    const std::string name = std::move(ahead.back());
    ahead.pop_back();
    if (name == ".") continue;
    if (name == "..") {
      if (inside.empty()) return failed(EXDEV);
      inside.pop_back();
      continue;
    }
    Opening found = opened(::openat(here(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat st;
    if (!found.fd.ok()) return found;
    if (::fstat(found.fd.get(), &st) != 0) return failed(errno);
    if (S_ISLNK(st.st_mode)) {
      if (links == Links::none || ++followed > kMostLinks) return failed(ELOOP);
      const std::string target = link_text(found.fd.get(), "");
      if (target.starts_with('/')) return failed(EXDEV);
      push_components(target, ahead);
    } else if (S_ISDIR(st.st_mode)) {
      if (inside.size() == kMostDepth) return failed(ENAMETOOLONG);
      inside.push_back(std::move(found.fd));
    } else {
      if (!ahead.empty()) return failed(ENOTDIR);
      Opening file = opened(::openat(here(), name.c_str(), kReading | O_NOFOLLOW));
      return file.error == ELOOP ? failed(EAGAIN) : std::move(file);  // it became a link just now
    }
  }
  return opened(::openat(here(), ".", kReading));
}

Opening locate(const std::string& path) { return opened(::open(path.c_str(), O_PATH | O_CLOEXEC)); }

std::string follow_links(const std::string& path) {
  std::string place = path, missing;
  for (int links = 0; links < kMostLinks;) {
    if (const Opening opening = locate(place); opening.fd.ok()) return clean_path(name_of(opening.fd) + missing);
    const std::size_t slash = place.rfind('/');
    if (slash == std::string::npos || place == "/") break;
    const std::string parent = slash == 0 ? "/" : place.substr(0, slash);
    if (const std::string target = link_text(AT_FDCWD, place.c_str()); !target.empty()) {  // of a link that leads to nothing
      place = target.starts_with('/') ? target : parent + "/" + target;
      ++links;
    } else {
      missing = place.substr(slash) + missing;
      place = parent;
    }
  }
  return clean_path(path);
}

std::string name_of(const Fd& fd) { return link_text(AT_FDCWD, ("/proc/self/fd/" + std::to_string(fd.get())).c_str()); }

}  // namespace weir
