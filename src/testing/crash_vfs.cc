#include "testing/crash_vfs.h"

#include <sqlite3.h>

#include <new>
#include <string>

#include "base/check.h"

namespace weir::testing {
namespace {

using Kind = DiskEvent::Kind;

// In front of the file of the VFS below, in the memory SQLite gives for both.
struct File {
  sqlite3_file base;
  DiskRecorder* disk;
  std::string* path;
  bool names_directory;  // its first sync also syncs the directory, as the unix VFS does for journals
  sqlite3_file* below() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

File* file_of(sqlite3_file* file) { return reinterpret_cast<File*>(file); }
sqlite3_file* below(sqlite3_file* file) { return file_of(file)->below(); }
std::string directory_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

int close(sqlite3_file* file) {
  const int code = below(file)->pMethods->xClose(below(file));
  delete file_of(file)->path;
  return code;
}

int write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
  const int code = below(file)->pMethods->xWrite(below(file), bytes, size, offset);
  const std::string_view data(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
  if (code == SQLITE_OK) file_of(file)->disk->record(Kind::write, *file_of(file)->path, static_cast<std::uint64_t>(offset), data);
  return code;
}

int truncate(sqlite3_file* file, sqlite3_int64 size) {
  const int code = below(file)->pMethods->xTruncate(below(file), size);
  if (code == SQLITE_OK) file_of(file)->disk->record(Kind::truncate, *file_of(file)->path, static_cast<std::uint64_t>(size));
  return code;
}

int sync(sqlite3_file* file, int flags) {
  File* const self = file_of(file);
  const int code = below(file)->pMethods->xSync(below(file), flags);
  if (code != SQLITE_OK) return code;
  self->disk->record(Kind::sync, *self->path);
  if (self->names_directory) self->disk->record(Kind::sync_directory, directory_of(*self->path));
  self->names_directory = false;
  return code;
}

int read(sqlite3_file* file, void* bytes, int size, sqlite3_int64 offset) {
  return below(file)->pMethods->xRead(below(file), bytes, size, offset);
}
int file_size(sqlite3_file* file, sqlite3_int64* size) { return below(file)->pMethods->xFileSize(below(file), size); }
int lock(sqlite3_file* file, int level) { return below(file)->pMethods->xLock(below(file), level); }
int unlock(sqlite3_file* file, int level) { return below(file)->pMethods->xUnlock(below(file), level); }
int reserved(sqlite3_file* file, int* answer) { return below(file)->pMethods->xCheckReservedLock(below(file), answer); }
int control(sqlite3_file* file, int what, void* argument) { return below(file)->pMethods->xFileControl(below(file), what, argument); }
int sector_size(sqlite3_file* file) { return below(file)->pMethods->xSectorSize(below(file)); }
int characteristics(sqlite3_file* file) { return below(file)->pMethods->xDeviceCharacteristics(below(file)); }
int shm_map(sqlite3_file* file, int region, int size, int extend, void volatile** memory) {
  return below(file)->pMethods->xShmMap(below(file), region, size, extend, memory);
}
int shm_lock(sqlite3_file* file, int offset, int count, int flags) {
  return below(file)->pMethods->xShmLock(below(file), offset, count, flags);
}
void shm_barrier(sqlite3_file* file) { below(file)->pMethods->xShmBarrier(below(file)); }
int shm_unmap(sqlite3_file* file, int remove) { return below(file)->pMethods->xShmUnmap(below(file), remove); }

// Version 2: no memory-mapped reads or writes.
constexpr sqlite3_io_methods kMethods = {2,         close,    read,    write,       truncate,        sync,    file_size, lock,
                                         unlock,    reserved, control, sector_size, characteristics, shm_map, shm_lock,  shm_barrier,
                                         shm_unmap, nullptr,  nullptr};

}  // namespace

struct CrashVfs::Vfs {
  sqlite3_vfs base{};
  sqlite3_vfs* below = nullptr;
  DiskRecorder* disk = nullptr;

  static Vfs* of(sqlite3_vfs* vfs) { return static_cast<Vfs*>(vfs->pAppData); }

  static int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags) {
    Vfs* const self = of(vfs);
    File* const opened = new (file) File{};
    int there = 1;
    if (name != nullptr) self->below->xAccess(self->below, name, SQLITE_ACCESS_EXISTS, &there);
    const int code = self->below->xOpen(self->below, name, opened->below(), flags, out_flags);
    if (opened->below()->pMethods == nullptr) return code;
    opened->disk = self->disk;
    opened->path = new std::string(name == nullptr ? "" : name);
    opened->names_directory =
        (flags & SQLITE_OPEN_CREATE) != 0 && (flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL)) != 0;
    opened->base.pMethods = &kMethods;
    if (code == SQLITE_OK && there == 0) self->disk->record(Kind::create, name);
    return code;
  }

  static int remove(sqlite3_vfs* vfs, const char* name, int sync_directory) {
    Vfs* const self = of(vfs);
    int there = 0;
    self->below->xAccess(self->below, name, SQLITE_ACCESS_EXISTS, &there);
    const int code = self->below->xDelete(self->below, name, sync_directory);
    if (code == SQLITE_OK && there != 0) self->disk->record(Kind::remove, name);
    if (code == SQLITE_OK && sync_directory != 0) self->disk->record(Kind::sync_directory, directory_of(name));
    return code;
  }

  static int access(sqlite3_vfs* vfs, const char* name, int flags, int* answer) {
    return of(vfs)->below->xAccess(of(vfs)->below, name, flags, answer);
  }
  static int full_path(sqlite3_vfs* vfs, const char* name, int size, char* out) {
    return of(vfs)->below->xFullPathname(of(vfs)->below, name, size, out);
  }
};

CrashVfs::CrashVfs(DiskRecorder& disk) : vfs_(std::make_unique<Vfs>()) {
  vfs_->below = sqlite3_vfs_find(nullptr);
  vfs_->disk = &disk;
  vfs_->base = *vfs_->below;
  vfs_->base.pNext = nullptr;
  vfs_->base.zName = "weir-crash";
  vfs_->base.szOsFile = static_cast<int>(sizeof(File)) + vfs_->below->szOsFile;
  vfs_->base.pAppData = vfs_.get();
  vfs_->base.xOpen = Vfs::open;
  vfs_->base.xDelete = Vfs::remove;
  vfs_->base.xAccess = Vfs::access;
  vfs_->base.xFullPathname = Vfs::full_path;
  WEIR_CHECK(sqlite3_vfs_register(&vfs_->base, 1) == SQLITE_OK);
}

CrashVfs::~CrashVfs() { sqlite3_vfs_unregister(&vfs_->base); }

}  // namespace weir::testing
