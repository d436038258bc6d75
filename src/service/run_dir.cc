#include "service/run_dir.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "base/hex.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/open_beneath.h"

namespace weir {

using research::RunFile;

namespace {

constexpr std::string_view kMark = ".weir-";
constexpr std::size_t kMostBytes = 256 * limits::kMiB;
constexpr std::size_t kSyncEach = 4;  // so many files are synced one by one

bool is_wave(std::string_view directory) { return directory == "wave-1" || directory == "wave-2"; }

bool leads_out(int error) { return error == EXDEV || error == ELOOP || error == EAGAIN; }

Error outside(const std::string& path) {
  return Error(ErrorCode::PATH_TRAVERSAL, "'" + path + "' leads outside the run's directory").with("path", path);
}

// That the system has run out of something says nothing about the run.
ErrorCode code_of(int error) { return used_up(error) ? ErrorCode::BUSY : ErrorCode::WRITE_FAILED; }

Error unopened(const std::string& path, int error) {
  return Error(code_of(error), "cannot open '" + path + "': " + std::strerror(error)).with("path", path).with("errno", std::int64_t{error});
}

// What the files door said about a name of ours, in the run's own words.
Error refused(std::string_view what, const std::string& path, const Error& error) {
  std::int64_t number = 0;
  for (const auto& [key, value] : error.details()) {
    if (const auto* found = std::get_if<std::int64_t>(&value); key == "errno" && found != nullptr) number = *found;
  }
  return Error(code_of(static_cast<int>(number)), "cannot " + std::string(what) + " '" + path + "'" +
                                                      (number == 0 ? "" : ": " + std::string(std::strerror(static_cast<int>(number)))))
      .with("path", path)
      .with("errno", number);
}

std::pair<std::string, std::string> split(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {"", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

}  // namespace

Result<bool> RunDir::open() {
  if (held_.contains("")) return true;
  Fd fd(::open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.ok() && (errno == ENOENT)) return false;
  if (!fd.ok()) return unopened(root_, errno);
  held_.emplace("", std::move(fd));
  return true;
}

Result<void> RunDir::make() {
  TRY(const bool there, open());
  if (there) return {};
  if (auto made = files_.make_directories(root_); !made.ok()) return refused("make the run's directory", root_, made.error());
  TRY_DO(open());
  return {};
}

Result<int> RunDir::directory(const std::string& name, bool make) {
  if (const auto held = held_.find(name); held != held_.end()) return held->second.get();
  const Fd& root = held_.at("");
  Opening opening = open_beneath(root, name, is_wave(name) ? Links::none : Links::beneath);
  if (opening.error == ENOENT && make) {
    const std::string path = "/proc/self/fd/" + std::to_string(root.get()) + "/" + name;
    if (auto made = files_.make_directory(path); !made.ok()) return refused("make the directory", name, made.error());
    made_.push_back(name);
    opening = open_beneath(root, name, Links::none);
  }
  if (opening.error == ENOENT) return -1;
  if (leads_out(opening.error) && is_wave(name))
    return Error(ErrorCode::WAVE_DIR_SYMLINK, "the wave directory '" + name + "' is a link").with("path", name);
  if (leads_out(opening.error)) return outside(name);
  if (used_up(opening.error)) return unopened(name, opening.error);
  struct stat st = {};
  if (opening.error != 0 || ::fstat(opening.fd.get(), &st) != 0 || !S_ISDIR(st.st_mode)) {
    const ErrorCode code = is_wave(name) ? ErrorCode::INVALID_WAVE_DIR : ErrorCode::WRITE_FAILED;
    return Error(code, "'" + name + "' is no directory that can be used").with("path", name);
  }
  return held_.emplace(name, std::move(opening.fd)).first->second.get();
}

Result<void> RunDir::check_directory(const std::string& name) {
  TRY(const bool there, open());
  if (there) TRY_DO(directory(name, false));
  return {};
}

Result<std::string> RunDir::place(const std::string& path, bool make) {
  const auto [above, name] = split(path);
  TRY(const int fd, directory(above, make));
  if (fd < 0) return std::string();
  return "/proc/self/fd/" + std::to_string(fd) + "/" + name;
}

Result<RunFile> RunDir::read(const std::string& path) {
  TRY(const bool there, open());
  if (!there) return RunFile();
  if (const std::string above = split(path).first; is_wave(above)) TRY_DO(directory(above, false));
  Opening opening = open_beneath(held_.at(""), path, Links::beneath);
  if (opening.error == ENOENT || opening.error == ENOTDIR) return RunFile();
  if (leads_out(opening.error)) return outside(path);
  if (used_up(opening.error)) return unopened(path, opening.error);
  if (opening.error != 0) return RunFile{RunFile::Kind::other, {}};
  struct stat st = {};
  if (::fstat(opening.fd.get(), &st) != 0 || !S_ISREG(st.st_mode)) return RunFile{RunFile::Kind::other, {}};
  RunFile out{RunFile::Kind::file, {}};
  const auto file = system_file(std::move(opening.fd), path);
  out.bytes.resize(static_cast<std::size_t>(st.st_size));
  std::size_t have = 0;
  for (;;) {
    if (have == out.bytes.size()) out.bytes.resize(have + 64);
    auto n = file->read(out.bytes.data() + have, out.bytes.size() - have);
    if (!n.ok()) return RunFile{RunFile::Kind::other, {}};
    have += *n;
    if (*n == 0) break;
    if (have > kMostBytes) return over_limit("bytes of '" + path + "'", kMostBytes, have);
  }
  out.bytes.resize(have);
  return out;
}

Result<std::vector<std::string>> RunDir::directories() {
  std::vector<std::string> out = {""};
  TRY(const auto names, files_.list("/proc/self/fd/" + std::to_string(held_.at("").get())));
  for (const std::string& name : names) {
    if (name.starts_with(".")) continue;
    auto st = files_.stat("/proc/self/fd/" + std::to_string(held_.at("").get()) + "/" + name);
    if (st.ok() && st->kind == FileStat::Kind::directory) out.push_back(name);
  }
  return out;
}

Result<std::vector<std::string>> RunDir::list() {
  std::vector<std::string> out;
  TRY(const bool there, open());
  if (!there) return out;
  TRY(const auto known, directories());
  for (const std::string& directory_name : known) {
    TRY(const int fd, directory(directory_name, false));
    const std::string base = "/proc/self/fd/" + std::to_string(fd);
    TRY(const auto names, files_.list(base));
    for (const std::string& name : names) {
      if (name.starts_with(".") || (directory_name.empty() && std::find(known.begin(), known.end(), name) != known.end())) continue;
      out.push_back(directory_name.empty() ? name : directory_name + "/" + name);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

Result<std::vector<std::string>> RunDir::leftovers() {
  std::vector<std::string> out;
  TRY(const bool there, open());
  if (!there) return out;
  TRY(const auto known, directories());
  for (const std::string& directory_name : known) {
    auto fd = directory(directory_name, false);
    if (!fd.ok() || *fd < 0) continue;
    TRY(const auto names, files_.list("/proc/self/fd/" + std::to_string(*fd)));
    for (const std::string& name : names) {
      if (name.starts_with(kMark) && name.size() == kMark.size() + 16)
        out.push_back(directory_name.empty() ? name : directory_name + "/" + name);
    }
  }
  return out;
}

Result<void> RunDir::stage(std::vector<NewFile> batch) {
  TRY_DO(make());
  const bool each = batch.size() <= kSyncEach;
  for (NewFile& file : batch) {
    const auto [above, name] = split(file.path);
    const std::uint64_t number = random_.next();
    const std::string mark = std::string(kMark) + encode_hex(std::string_view(reinterpret_cast<const char*>(&number), sizeof number));
    const std::string temporary = above.empty() ? mark : above + "/" + mark;
    TRY(const std::string path, place(temporary, true));
    staged_.push_back({std::move(file), temporary});
    const NewFile& kept = staged_.back().file;
    auto written = each ? files_.write_synced(path, kept.bytes) : files_.write_new(path, kept.bytes);
    if (!written.ok()) {
      Error error = refused("write", kept.path, written.error());
      discard();
      return error;
    }
  }
  if (each || staged_.empty()) return {};
  if (auto synced = files_.sync_file_system("/proc/self/fd/" + std::to_string(held_.at("").get())); !synced.ok()) {
    discard();
    return refused("sync", root_, synced.error());
  }
  return {};
}

Result<void> RunDir::publish() {
  std::set<std::string> touched;
  for (Staged& one : staged_) {
    if (one.temporary.empty()) continue;
    TRY(const std::string to, place(one.file.path, true));
    TRY(const std::string from, place(one.temporary, true));
    auto renamed = files_.rename(from, to);
    if (!renamed.ok() && renamed.error().code() == ErrorCode::NOT_FOUND) {
      // Somebody took it for what a killed run left.
      (void)files_.remove(from);
      if (auto again = files_.write_synced(from, one.file.bytes); !again.ok()) return refused("write", one.file.path, again.error());
      renamed = files_.rename(from, to);
    }
    if (!renamed.ok()) return refused("put in place", one.file.path, renamed.error());
    one.temporary.clear();
    touched.insert(split(one.file.path).first);
  }
  staged_.clear();
  made_.clear();
  for (const std::string& name : touched) {
    TRY(const int fd, directory(name, false));
    if (fd < 0) continue;
    auto synced = files_.sync_directory("/proc/self/fd/" + std::to_string(fd));
    if (!synced.ok()) return refused("sync the directory", name.empty() ? root_ : name, synced.error());
  }
  return {};
}

void RunDir::discard() {
  for (const Staged& one : staged_) {
    if (one.temporary.empty()) continue;
    if (auto path = place(one.temporary, false); path.ok() && !path->empty()) (void)files_.remove(*path);
  }
  staged_.clear();
  // Only if nothing else has come into them.
  for (const std::string& name : made_) {
    held_.erase(name);
    (void)files_.remove("/proc/self/fd/" + std::to_string(held_.at("").get()) + "/" + name);
  }
  made_.clear();
}

Result<void> RunDir::remove(const std::string& path) {
  TRY(const std::string at, place(path, false));
  if (at.empty()) return {};
  auto removed = files_.remove(at);
  if (!removed.ok() && removed.error().code() != ErrorCode::NOT_FOUND) return refused("remove", path, removed.error());
  return {};
}

}  // namespace weir
