#include "store/sealed_pages.h"

#include <sqlite3.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <new>

namespace weir::sqlite {
namespace {

constexpr int kLeastPage = 512, kMostPage = 65536;

struct SealedFile {
  sqlite3_file base;
  sqlite3_file* inner;  // behind this in the same memory
};

sqlite3_file* inner_of(sqlite3_file* file) { return reinterpret_cast<SealedFile*>(file)->inner; }
const sqlite3_io_methods& methods_of(sqlite3_file* file) { return *inner_of(file)->pMethods; }

// Each step can be undone knowing the word, so one word that is wrong always makes another seal.
std::uint64_t seal_of(const char* page, int bytes, sqlite3_int64 offset) {
  std::uint64_t hash = 0x9E3779B97F4A7C15ull ^ static_cast<std::uint64_t>(offset);
  for (int at = 0; at < bytes - kSealBytes; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, page + at, 8);
    hash = (hash ^ word) * 0xD6E8FEB86659FD93ull;
    hash ^= hash >> 32;
  }
  return hash;
}

// Of a database everything but its header is read and written in whole pages.
bool is_page(int bytes, sqlite3_int64 offset) {
  return bytes >= kLeastPage && bytes <= kMostPage && (bytes & (bytes - 1)) == 0 && offset % bytes == 0;
}

int read_page(sqlite3_file* file, void* to, int bytes, sqlite3_int64 offset) {
  const int code = methods_of(file).xRead(inner_of(file), to, bytes, offset);
  if (code != SQLITE_OK || !is_page(bytes, offset)) return code;
  const char* page = static_cast<const char*>(to);
  std::uint64_t seal = 0;
  std::memcpy(&seal, page + bytes - kSealBytes, kSealBytes);
  return seal == seal_of(page, bytes, offset) ? SQLITE_OK : SQLITE_IOERR_DATA;
}

int write_page(sqlite3_file* file, const void* from, int bytes, sqlite3_int64 offset) {
  if (!is_page(bytes, offset)) return methods_of(file).xWrite(inner_of(file), from, bytes, offset);
  thread_local std::array<char, kMostPage> sealed;
  std::memcpy(sealed.data(), from, static_cast<std::size_t>(bytes));
  const std::uint64_t seal = seal_of(sealed.data(), bytes, offset);
  std::memcpy(sealed.data() + bytes - kSealBytes, &seal, kSealBytes);
  return methods_of(file).xWrite(inner_of(file), sealed.data(), bytes, offset);
}

// Version 1 has neither a write-ahead log nor mapped pages, which would go past the seals.
constexpr sqlite3_io_methods kMethods = {
    .iVersion = 1,
    .xClose = [](sqlite3_file* file) { return methods_of(file).xClose(inner_of(file)); },
    .xRead = read_page,
    .xWrite = write_page,
    .xTruncate = [](sqlite3_file* file, sqlite3_int64 size) { return methods_of(file).xTruncate(inner_of(file), size); },
    .xSync = [](sqlite3_file* file, int flags) { return methods_of(file).xSync(inner_of(file), flags); },
    .xFileSize = [](sqlite3_file* file, sqlite3_int64* size) { return methods_of(file).xFileSize(inner_of(file), size); },
    .xLock = [](sqlite3_file* file, int level) { return methods_of(file).xLock(inner_of(file), level); },
    .xUnlock = [](sqlite3_file* file, int level) { return methods_of(file).xUnlock(inner_of(file), level); },
    .xCheckReservedLock = [](sqlite3_file* file, int* out) { return methods_of(file).xCheckReservedLock(inner_of(file), out); },
    .xFileControl = [](sqlite3_file* file, int what, void* value) { return methods_of(file).xFileControl(inner_of(file), what, value); },
    .xSectorSize = [](sqlite3_file* file) { return methods_of(file).xSectorSize(inner_of(file)); },
    // Parts of pages have no seal.
    .xDeviceCharacteristics =
        [](sqlite3_file* file) { return methods_of(file).xDeviceCharacteristics(inner_of(file)) & ~SQLITE_IOCAP_SUBPAGE_READ; },
    .xShmMap = nullptr,
    .xShmLock = nullptr,
    .xShmBarrier = nullptr,
    .xShmUnmap = nullptr,
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

int open_file(sqlite3_vfs*, sqlite3_filename name, sqlite3_file* file, int flags, int* flags_out) {
  sqlite3_vfs* const system = sqlite3_vfs_find(nullptr);
  if ((flags & SQLITE_OPEN_MAIN_DB) == 0) return system->xOpen(system, name, file, flags, flags_out);
  auto* const sealed = new (file) SealedFile{};
  sealed->inner = reinterpret_cast<sqlite3_file*>(sealed + 1);
  const int code = system->xOpen(system, name, sealed->inner, flags, flags_out);
  if (code == SQLITE_OK) sealed->base.pMethods = &kMethods;
  return code;
}

}  // namespace

const char* sealed_pages() {
  static constexpr const char* kName = "weir-sealed-pages";
  static const bool taken = [] {
    sqlite3_vfs* const system = sqlite3_vfs_find(nullptr);
    if (system == nullptr) return false;
    static sqlite3_vfs ours = *system;
    ours.pNext = nullptr;
    ours.zName = kName;
    ours.szOsFile += static_cast<int>(sizeof(SealedFile));
    ours.xOpen = open_file;
    return sqlite3_vfs_register(&ours, 0) == SQLITE_OK;
  }();
  return taken ? kName : nullptr;
}

}  // namespace weir::sqlite
