// Remembers failed syncs. After a failed fsync nobody knows what reached the disk, and asking again may answer "fine"
// for pages the kernel has given up on. So a store that saw one acknowledges nothing until it is opened again and
// verified. The files door calls these, and SQLite is compiled to (cmake/dependencies.cmake), because it does not report
// every failed sync.
#pragma once

#include <cstdint>

namespace weir {

// Failed syncs in this process so far.
std::uint64_t failed_syncs();

}  // namespace weir

extern "C" {
int weir_watched_fsync(int fd);
int weir_watched_fdatasync(int fd);
}
