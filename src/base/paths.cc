#include "base/paths.h"

namespace weir {

std::string collapse_path(std::string_view path) {
  std::string out;
  out.reserve(path.size());
  for (std::size_t i = 0; i < path.size(); ++i) {
    while (path[i] == '/' && (path.substr(i).starts_with("//") || path.substr(i).starts_with("/./"))) i += path[i + 1] == '/' ? 1 : 2;
    out += path[i];
  }
  return out;
}

std::optional<std::string_view> path_below(std::string_view path, std::string_view directory) {
  while (directory.ends_with('/')) directory.remove_suffix(1);
  if (!path.starts_with(directory)) return std::nullopt;
  path.remove_prefix(directory.size());
  if (path.empty()) return path;
  if (path[0] != '/') return std::nullopt;
  return path.substr(1);
}

std::string clean_path(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(path.size(), part.size() + 1));
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      out.resize(out.empty() ? 0 : out.rfind('/'));
    } else {
      out.append("/").append(part);
    }
  }
  return out.empty() ? "/" : out;
}

}  // namespace weir
