// The options of the read cache as the configuration says: `read.<option>`.
#pragma once

#include "readcache/options.h"
#include "service/config.h"

namespace weir {

// INVALID_FIELD for a limit that no answer could keep. `denied`: what to do with files on the deny list unless configured.
Result<ReadOptions> read_options(const Config& config, bool refuse_denied);

}  // namespace weir
