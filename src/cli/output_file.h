// A file that the user named for a command's output.
#pragma once

#include <string>
#include <string_view>

#include "base/doors.h"
#include "base/files.h"

namespace weir::cli {

// INVALID_FIELD if it is a directory: asked before the work is done.
Result<void> check_output(const std::string& path);

// A regular file, or one that is not there yet, is replaced whole or not at all, behind a link too. What is no regular
// file (a FIFO, a device) is written to.
Result<void> write_output(Files& files, Random& random, const std::string& path, std::string_view bytes);

}  // namespace weir::cli
