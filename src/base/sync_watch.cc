#include "base/sync_watch.h"

#include <unistd.h>

#include <atomic>

namespace weir {
namespace {

std::atomic<std::uint64_t> failed{0};

int watched(int result) {
  if (result != 0) failed.fetch_add(1, std::memory_order_relaxed);
  return result;
}

}  // namespace

std::uint64_t failed_syncs() { return failed.load(std::memory_order_relaxed); }

}  // namespace weir

int weir_watched_fsync(int fd) { return weir::watched(::fsync(fd)); }
int weir_watched_fdatasync(int fd) { return weir::watched(::fdatasync(fd)); }
