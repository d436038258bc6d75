#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace weir {

void check_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "weir: bug: %s:%d: check failed: %s\n", file, line, expression);
  std::abort();
}

}  // namespace weir
