#include "store/store.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <mutex>
#include <optional>

#include "base/limits.h"
#include "store/header_check.h"
#include "store/memory_log.h"
#include "store/wal_check.h"

namespace weir {
namespace {

constexpr const char* kDatabase = "/weir.db";
constexpr const char* kObjects = "/objects";
constexpr const char* kSuspect = "/suspect";

Error unusable(std::string message, const std::string& path) {
  return Error(ErrorCode::STORE_UNUSABLE, std::move(message)).with("path", path);
}

Result<void> check_owner(Files& files, const std::string& path, FileStat::Kind kind) {
  TRY(const FileStat st, files.stat(path));
  if (st.kind != kind)
    return unusable("'" + path + "' is not a " + (kind == FileStat::Kind::directory ? "directory" : "regular file"), path);
  if (st.uid != ::geteuid()) return unusable(fmt::format("'{}' belongs to user {}, this is user {}", path, st.uid, ::geteuid()), path);
  if ((st.mode & 022) != 0)
    return unusable(fmt::format("'{}' has mode {:04o}: others may write to it; 'weir doctor --fix' mends modes", path, st.mode), path);
  return {};
}

bool failed_with(const Error& error, int number) {
  return std::any_of(error.details().begin(), error.details().end(),
                     [&](const auto& detail) { return detail.first == "errno" && detail.second == DetailValue(std::int64_t{number}); });
}

// By SQLite itself; where tables are there and are others, the database can be read.
bool cannot_be_read(const Error& error) {
  return error.code() == ErrorCode::CORRUPT &&
         std::any_of(error.details().begin(), error.details().end(), [](const auto& detail) { return detail.first == "sqlite"; });
}

// A mark that cannot be looked for may be there.
bool marked_suspect(Files& files, const std::string& directory) {
  const auto st = files.stat(directory + kSuspect);
  return st.ok() || st.error().code() != ErrorCode::NOT_FOUND;
}

// The directory, an empty database with the right mode, and objects/: what SQLite would make with the umask's mode.
Result<void> make_missing(Files& files, const std::string& directory) {
  if (!files.stat(directory).ok()) TRY_DO(files.make_directories(directory));
  TRY_DO(check_owner(files, directory, FileStat::Kind::directory));
  bool made = false;
  if (!files.stat(directory + kObjects).ok()) {
    TRY_DO(files.make_directory(directory + kObjects));
    made = true;
  }
  if (!files.stat(directory + kDatabase).ok()) {
    // Whoever made the directory may have died before its name was durable. One we may not even open made it for us.
    const std::size_t slash = directory.rfind('/');
    auto named = files.sync_directory(slash == std::string::npos ? "." : slash == 0 ? "/" : directory.substr(0, slash));
    if (!named.ok() && !failed_with(named.error(), EACCES)) return named;
    auto created = files.write_synced(directory + kDatabase, "");
    // Another process may have been quicker; any other failure may be a sync's, and is not passed over.
    if (!created.ok() && !failed_with(created.error(), EEXIST)) return created;
    made = true;
  }
  return made ? files.sync_directory(directory) : Result<void>();
}

}  // namespace

// That this process has a store open, by the identity of its file. The files of such a store may not be opened beside
// SQLite: closing a descriptor drops the locks of the whole process.
class Store::Presence {
 public:
  // Calls `alone` before the store counts as open, if it is not open already.
  static Result<std::shared_ptr<const Presence>> enter(const FileStat& database, FunctionRef<Result<void>()> alone) {
    const std::lock_guard lock(mutex());
    const Key key{database.device, database.inode};
    if (open_here()[key] == 0) TRY_DO(alone());
    ++open_here()[key];
    return std::shared_ptr<const Presence>(new Presence(key));
  }
  ~Presence() {
    const std::lock_guard lock(mutex());
    if (--open_here()[key_] == 0) open_here().erase(key_);
  }
  Presence(const Presence&) = delete;
  Presence& operator=(const Presence&) = delete;

 private:
  using Key = std::pair<std::uint64_t, std::uint64_t>;
  explicit Presence(Key key) : key_(key) {}
  static std::mutex& mutex() {
    static std::mutex mutex;
    return mutex;
  }
  static std::map<Key, int>& open_here() {
    static std::map<Key, int> open_here;
    return open_here;
  }
  const Key key_;
};

Result<std::unique_ptr<Store>> Store::open(const std::string& directory, Access access, SqliteOptions options, Doors doors) {
  std::unique_ptr<Store> store(new Store(doors));
  store->directory_ = directory;
  Files& files = doors.files;
  const bool writing = access == Access::write;
  if (writing) {
    TRY_DO(make_missing(files, directory));
  } else if (!files.stat(directory + kDatabase).ok()) {
    return unusable("no store at '" + directory + "': run 'weir init', or name one with --store", directory);
  }
  TRY_DO(check_owner(files, directory, FileStat::Kind::directory));
  TRY_DO(check_owner(files, directory + kDatabase, FileStat::Kind::regular));
  TRY(const FileStat database, files.stat(directory + kDatabase));
  DatabaseHeader header;
  std::optional<Error> lost;  // commits, with the end of the write-ahead log
  TRY(store->presence_, Presence::enter(database, [&]() -> Result<void> {
        TRY(header, check_header(files, directory + kDatabase));
        TRY_DO(store->meet_header(header, access));
        TRY(const auto damage, find_wal_damage(files, directory + kDatabase, options.durability == Durability::full));
        if (!damage) return {};
        lost = Error(ErrorCode::CORRUPT,
                     "the write-ahead log is damaged: " + *damage + "; 'weir verify' tells more, 'weir backup' saves what can be read")
                   .with("object", "weir.db-wal");
        if (access != Access::examine) return *lost;
        store->findings_at_open_.push_back({"", "", "weir.db-wal", "acknowledged commits are lost: " + *damage});
        options.leave_wal_index = files.stat(directory + kDatabase + "-shm").ok();
        return {};
      }));
  options.examine = access == Access::examine;
  auto log = SqliteLog::open(directory + kDatabase, writing ? SqliteLog::Access::write : SqliteLog::Access::read, options);
  if (!log.ok() && lost) return *lost;
  if (!log.ok() && cannot_be_read(log.error())) {
    // Not a database at all, or its first page is gone.
    if (!header.ours) return unusable("'" + directory + kDatabase + "' cannot be read as a store: " + log.error().message(), directory);
    if (access == Access::examine) {
      options.unread = true;
      log = SqliteLog::open(directory + kDatabase, SqliteLog::Access::read, options);
    }
  }
  TRY_DO(log);
  store->sqlite_ = log->get();
  store->log_ = std::move(log).value();
  store->blobs_ = make_file_blobs(directory + kObjects, files, doors.random);
  store->suspect_ = marked_suspect(files, directory);
  return store;
}

Result<void> Store::meet_header(const DatabaseHeader& header, Access access) {
  if (!header.damage || access == Access::read) return {};
  if (access == Access::examine) {
    findings_at_open_.push_back({"", "", "weir.db", *header.damage});
    return {};
  }
  return Error(ErrorCode::CORRUPT, "weir.db is damaged: " + *header.damage + "; 'weir verify' tells more").with("object", "weir.db");
}

std::unique_ptr<Store> Store::in_memory(Doors doors) {
  std::unique_ptr<Store> store(new Store(doors));
  store->log_ = make_memory_log();
  store->blobs_ = make_memory_blobs();
  return store;
}

Result<void> Store::writable() {
  if (sqlite_ == nullptr) return {};
  if (sqlite_->poisoned())
    return Error(ErrorCode::STORAGE, "a sync to disk failed: the store takes nothing more until it is opened again and verified");
  TRY(const int percent, doors_.files.percent_full(directory_));
  if (percent >= limits::kDiskFullPercent) {
    return Error(ErrorCode::STORAGE,
                 fmt::format("the disk is {} % full, writes stop at {} %; reads go on", percent, limits::kDiskFullPercent))
        .with("percent", std::int64_t{percent})
        .with("errno", std::int64_t{28});
  }
  return {};
}

void Store::leave_suspect_mark() {
  if (directory_.empty() || suspect_) return;
  suspect_ = true;
  // Best effort: the disk has just failed us. Without the mark the next opening still recovers as after a crash.
  if (auto marked = doors_.files.write_synced(directory_ + kSuspect, ""); !marked.ok()) return;
}

Result<void> Store::clear_suspect_mark() {
  if (!directory_.empty() && marked_suspect(doors_.files, directory_)) {
    TRY_DO(doors_.files.remove(directory_ + kSuspect));
    TRY_DO(doors_.files.sync_directory(directory_));
  }
  suspect_ = false;
  return {};
}

std::uint64_t Store::database_bytes() {
  std::uint64_t bytes = 0;
  for (const char* suffix : {"", "-wal"}) {
    const auto st = doors_.files.stat(directory_ + kDatabase + suffix);
    if (st.ok()) bytes += st->size;
  }
  return bytes;
}

Result<std::uint64_t> Store::bytes() {
  TRY(const std::uint64_t objects, blobs_->total_bytes());
  return database_bytes() + objects;
}

}  // namespace weir
