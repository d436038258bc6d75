#include "service/place.h"

#include <unistd.h>

#include <algorithm>

#include "store/schema.h"

namespace weir {
namespace {

constexpr std::string_view kNames[] = {
    "anchor.key", "answers.db", "answers.db-journal", "answers.db-shm", "answers.db-wal", "history", "objects", "purging",
    "suspect",    "weir.db",    "weir.db-journal",    "weir.db-shm",    "weir.db-wal"};
constexpr unsigned kClosed = 0700;

bool has_database(Files& files, const std::string& directory) { return files.stat(directory + "/weir.db").ok(); }

}  // namespace

bool is_store_name(std::string_view name) { return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames); }

bool is_store(Files& files, const std::string& directory) {
  const std::string path = directory + "/weir.db";
  const auto st = files.stat(path);
  if (!st.ok() || st->kind != FileStat::Kind::regular) return false;
  if (st->size == 0) return true;
  const auto file = files.open(path);
  if (!file.ok()) return true;
  // SQLite's header: its magic, and at 68 the number by which an application knows its files.
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  char header[72];
  std::size_t have = 0;
  while (have < sizeof header) {
    const auto n = (*file)->read(header + have, sizeof header - have);
    if (!n.ok() || *n == 0) return false;
    have += *n;
  }
  std::int64_t application = 0;
  for (std::size_t i = 68; i < 72; ++i) application = application << 8 | static_cast<unsigned char>(header[i]);
  return std::string_view(header, kMagic.size()) == kMagic && application == kApplicationId;
}

Result<void> check_place(Files& files, const std::string& directory) {
  const auto unusable = [&](const std::string& why) {
    return Error(ErrorCode::STORE_UNUSABLE, "'" + directory + "' " + why).with("path", directory);
  };
  const auto st = files.stat(directory);
  if (!st.ok() || has_database(files, directory)) return {};
  if (st->kind != FileStat::Kind::directory) return unusable("is not a directory");
  if (st->uid != ::geteuid())
    return unusable("belongs to user " + std::to_string(st->uid) + ", this is user " + std::to_string(::geteuid()));
  TRY(const auto names, files.list(directory));
  const auto stranger = std::find_if_not(names.begin(), names.end(), is_store_name);
  if (stranger != names.end())
    return unusable("holds '" + *stranger + "' and no store: name an empty directory, or one that is not there yet");
  return {};
}

Result<void> take_place(Files& files, const std::string& directory) {
  TRY_DO(check_place(files, directory));
  const auto st = files.stat(directory);
  if (!st.ok() || st->mode == kClosed || has_database(files, directory)) return {};
  return files.change_mode(directory, kClosed);
}

}  // namespace weir
