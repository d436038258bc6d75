// The settings of the context compiler that decide digests.
#pragma once

#include "base/files.h"
#include "ctree/nodes_fold.h"
#include "service/config.h"

namespace weir {

// INVALID_FIELD: a key's name without its file, or the reverse; a file that is empty.
Result<ctree::NodesFold::Options> nodes_options(Files& files, const Config& config);

}  // namespace weir
