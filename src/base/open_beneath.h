// Opening a file below a directory without ever leaving it, whatever links, `..` and renames in flight say. Two ways that
// answer alike: the kernel's openat2, and a walk by component for kernels and sandboxes without it.
#pragma once

#include <string>

#include "base/system_file.h"

namespace weir {

struct Opening {
  Fd fd{-1};
  int error = 0;  // of errno; EXDEV: the path leads out, or through an absolute link; EAGAIN: it changed while it was walked
};

enum class Links { beneath, none };  // none: a link anywhere is ELOOP

bool kernel_has_openat2();

// Opened for reading and never waited for, so that a FIFO cannot hang us. `relative` may be empty, for the directory itself.
Opening open_beneath(const Fd& directory, const std::string& relative, Links links);
Opening walk_beneath(const Fd& directory, const std::string& relative, Links links);

// A place, not to be read from: it says where a path ends when every link is followed.
Opening locate(const std::string& path);

// Where a path ends when every link is followed, as far as there is anything; what is missing then follows as it is written.
std::string follow_links(const std::string& path);

// The kernel's name for an open file, with ` (deleted)` at its end if it lost that name; empty if it has none.
std::string name_of(const Fd& fd);

}  // namespace weir
