// What becomes of a task that there is no memory or thread for. Below, what the library throws then is let through; whoever begins a task
// (a command, a request, a write to the log, a thread of its own) catches it here, and the task has failed like any other.
#pragma once

#include <cerrno>
#include <new>
#include <system_error>

#include "base/result.h"

namespace weir {

// Has the system only run out of descriptors or memory? That says nothing about what was asked for.
inline bool used_up(int error) { return error == EMFILE || error == ENFILE || error == ENOMEM; }

inline Error out_of_memory() {
  return Error(ErrorCode::BUSY,
               "there is not enough memory for this, and nothing is stored by half: try again with more, or with less at a time");
}

// What `task` answers, or BUSY if it could not have the memory it needs.
template <typename Task>
auto within_memory(Task&& task) -> decltype(task()) {
  try {
    return task();
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::system_error&) {  // no thread
    return out_of_memory();
  }
}

}  // namespace weir
