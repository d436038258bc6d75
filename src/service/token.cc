#include "service/token.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/base64.h"

namespace weir {
namespace {

constexpr std::size_t kBytes = 32;
constexpr std::size_t kLength = 43;     // of their base64url, without padding
constexpr std::size_t kMostBytes = 64;  // of the file: a token and a line feed

Error unusable(std::string message, const std::string& path) {
  return Error(ErrorCode::STORE_UNUSABLE, std::move(message)).with("path", path);
}

bool is_token(std::string_view text) {
  return text.size() == kLength && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' || c == '_';
         });
}

Result<void> check_own(const FileStat& st, const std::string& path) {
  if (st.kind != FileStat::Kind::regular)
    return unusable("'" + path + "' is no regular file: name another with http.token_file, or remove it", path);
  if (st.uid != ::geteuid())
    return unusable(fmt::format("'{}' belongs to user {}, this is user {}: remove it, and the next 'weir serve' makes another", path,
                                st.uid, ::geteuid()),
                    path);
  if ((st.mode & 077) != 0)
    return unusable(fmt::format("'{}' has mode {:04o}: others may know the token; 'weir token rotate' makes a new one", path, st.mode),
                    path);
  return {};
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

std::string read_token_file(const std::string& token_file) { return token_file + ".read"; }

std::string new_token(Random& random) {
  std::string bytes(kBytes, '\0');
  for (std::size_t at = 0; at < kBytes; at += sizeof(std::uint64_t)) {
    const std::uint64_t chance = random.next();
    std::memcpy(bytes.data() + at, &chance, sizeof chance);
  }
  std::string out = encode_base64(bytes);
  std::replace(out.begin(), out.end(), '+', '-');
  std::replace(out.begin(), out.end(), '/', '_');
  out.resize(kLength);  // without padding
  return out;
}

Result<std::string> load_token(Files& files, const std::string& path) {
  // Before it is opened, to say why it cannot be; and after, because it may be another by then.
  if (const auto st = files.stat(path); st.ok() && st->kind != FileStat::Kind::other) TRY_DO(check_own(*st, path));
  TRY(const auto file, files.open(path));
  TRY(const FileStat st, file->stat());
  TRY_DO(check_own(st, path));
  std::string text(kMostBytes, '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    TRY(const std::size_t n, file->read(text.data() + have, text.size() - have));
    if (n == 0) break;
    have += n;
  }
  text.resize(have);
  if (text.ends_with('\n')) text.pop_back();
  if (!is_token(text)) return unusable("'" + path + "' holds no token: 'weir token rotate' makes one", path);
  return text;
}

Result<std::optional<std::string>> load_token_if_there(Files& files, const std::string& path) {
  auto token = load_token(files, path);
  if (token.ok()) return std::optional(std::move(token).value());
  if (token.error().code() == ErrorCode::NOT_FOUND) return std::optional<std::string>();
  return std::move(token).error();
}

Result<std::string> load_or_make_token(Files& files, Random& random, const std::string& path) {
  TRY(auto token, load_token_if_there(files, path));
  if (token) return std::move(*token);
  return rotate_token(files, random, path);
}

Result<std::string> rotate_token(Files& files, Random& random, const std::string& path) {
  const std::string directory = directory_of(path);
  if (!files.stat(directory).ok()) TRY_DO(files.make_directories(directory));
  const std::string token = new_token(random);
  const std::string temporary = fmt::format("{}.new-{:016x}", path, random.next());
  auto put = files.write_synced(temporary, token + "\n");
  if (put.ok()) put = files.rename(temporary, path);
  if (!put.ok()) {
    // What cannot be removed was not written either, or is a token nobody uses.
    if (auto removed = files.remove(temporary); !removed.ok()) return std::move(put).error();
    return std::move(put).error();
  }
  TRY_DO(files.sync_directory(directory));
  return token;
}

std::vector<DoctorCheck> examine_tokens(Files& files, const std::string& path, bool fix) {
  std::vector<DoctorCheck> out;
  for (const auto& [name, file] : {std::pair("token", path), std::pair("read token", read_token_file(path))}) {
    const auto st = files.stat(file);
    const bool open_to_others = st.ok() && st->kind == FileStat::Kind::regular && st->uid == ::geteuid() && (st->mode & 077) != 0;
    const bool mended = open_to_others && fix && files.change_mode(file, 0600).ok();
    const auto token = load_token(files, file);
    const bool missing = !token.ok() && token.error().code() == ErrorCode::NOT_FOUND;
    if (missing && name == std::string_view("read token")) continue;  // nobody has to have one
    out.push_back(
        {name, token.ok() || missing,
         missing      ? "none yet"
         : token.ok() ? file + (mended ? " (closed to others)" : "")
                      : token.error().message(),
         open_to_others ? "run 'weir doctor --fix'; 'weir token rotate' if somebody may have read it" : "run 'weir token rotate'"});
  }
  return out;
}

}  // namespace weir
