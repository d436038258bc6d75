// The log in memory: for tests, for throw-away servers, and as the plain second reading of what a log is.
#pragma once

#include <memory>

#include "store/log.h"

namespace weir {

std::unique_ptr<Log> make_memory_log();

}  // namespace weir
