// From a caller's words to an open file.
#pragma once

#include <string_view>

#include "base/read_door.h"
#include "readcache/path_request.h"

namespace weir {

struct OpenedRequest {
  PathRequest request;
  OpenedFile file;
};

// Each spelling is tried by opening it, so what was found is what was opened. Errors: those of resolve_request and of the
// door.
Result<OpenedRequest> open_request(const ReadDoor& door, std::string_view given, const LineRequest& lines, const PathContext& context);

}  // namespace weir
