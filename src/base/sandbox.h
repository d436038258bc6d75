// What a server gives up once it has started: files it has no business with, other programs, other processes, and every
// way out. The kernel holds to it from then on, whatever the code does. Two halves, because each kernel may lack either:
// Landlock for files, seccomp for system calls.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weir {

struct SandboxSupport {
  int landlock = 0;  // version of its interface; 0: not there, off, or too old to be of use
  bool seccomp = false;
};
SandboxSupport sandbox_support();

// What stays open. A directory stands for all below it; a path that is not there is passed over.
struct SandboxFiles {
  std::vector<std::string> read;
  std::vector<std::string> write;  // also read, make, rename and remove
  std::string socket_directory;    // a socket may be made and removed in it; empty: none
  bool listens = false;            // a TCP port is still to be bound
};

// Both hold for this thread and for those it starts afterwards, and cannot be taken back. False: this kernel cannot.

// What is open already stays so. What is refused fails with EACCES.
Result<bool> confine_files(const SandboxFiles& files);

// No program is run, no process looked into, no socket made and no connection begun; EPERM. For all threads there are.
// What is bound already goes on taking connections.
Result<bool> confine_calls();

}  // namespace weir
