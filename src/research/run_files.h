// The files of a run as its rules see them: on disk, or as the log would have them at some entry.
#pragma once

#include <string>

#include "base/result.h"

namespace weir::research {

struct RunFile {
  enum class Kind { absent, file, other };  // other: a directory, a FIFO, ...
  Kind kind = Kind::absent;
  std::string bytes;
};

class RunFiles {
 public:
  virtual ~RunFiles() = default;
  // PATH_TRAVERSAL if the path leads outside.
  virtual Result<RunFile> read(const std::string& path) = 0;
};

}  // namespace weir::research
