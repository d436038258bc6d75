// A hook for tests: tries what a server has given up, and says how the kernel answered.
#pragma once

#include <string>

#include "json/value.h"

namespace weir::cli {

// What has to be had before the doors are shut.
class SandboxProbe {
 public:
  SandboxProbe();
  ~SandboxProbe();
  SandboxProbe(const SandboxProbe&) = delete;
  SandboxProbe& operator=(const SandboxProbe&) = delete;

  // Each act with the name of its errno, or "done". `inside` is a directory that may be read.
  json::Value try_all(const std::string& inside, json::Arena& arena) const;

 private:
  int socket_;
};

}  // namespace weir::cli
