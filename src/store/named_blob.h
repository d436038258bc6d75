// The bytes of an object that an entry names, and why they are not there.
#pragma once

#include <string>

#include "store/store.h"

namespace weir {

// NOT_FOUND if they were purged, alone or with their session; CORRUPT if they are damaged, or gone without that.
Result<std::string> named_blob(Store& store, LogReader& reader, SessionNo session, const Digest& digest);

// NOT_FOUND if the bytes were purged by their own name, else nothing.
Result<void> not_purged(LogReader& reader, const Digest& digest);

}  // namespace weir
