// For bench programs, which have nobody to hand an error to: what was asked for, or its message and the end.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/result.h"

namespace weir::bench {

[[noreturn]] inline void fail(const Error& error) {
  std::fprintf(stderr, "%s\n", error.message().c_str());
  std::exit(1);
}

template <typename T>
T must(Result<T> result) {
  if (!result.ok()) fail(result.error());
  return std::move(result).value();
}

inline void must(Result<void> result) {
  if (!result.ok()) fail(result.error());
}

}  // namespace weir::bench
