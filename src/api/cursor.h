// Cursors of lists: opaque to whoever holds one, and only good where it was given. One that was changed, or comes from another
// list or another process, is refused.
#pragma once

#include <string>
#include <string_view>

#include "base/doors.h"
#include "base/result.h"
#include "base/sha256.h"

namespace weir::api {

// A key for one process.
Digest new_cursor_key(Random& random);

// `kind`: which list it goes on with, whatever makes one list another: operation, session, filters.
std::string make_cursor(std::string_view kind, std::string_view payload, const Digest& key);

// The payload. INVALID_FIELD at /cursor.
Result<std::string> read_cursor(std::string_view kind, std::string_view cursor, const Digest& key);

}  // namespace weir::api
