#include "readcache/open_request.h"

#include <optional>

namespace weir {

Result<OpenedRequest> open_request(const ReadDoor& door, std::string_view given, const LineRequest& lines, const PathContext& context) {
  std::optional<Result<OpenedFile>> found;  // what the last spelling led to, if it was there
  bool own_words = true;                    // the first spelling; that another one would lie outside the roots tells the caller nothing
  const auto exists = [&](const std::string& absolute) {
    found.emplace(door.open(absolute));
    const auto is = [&](ErrorCode code) { return !found->ok() && found->error().code() == code; };
    if (is(ErrorCode::NOT_FOUND) || (!own_words && is(ErrorCode::OUTSIDE_ROOTS))) found.reset();
    own_words = false;
    return found.has_value();
  };
  TRY(PathRequest request, resolve_request(given, lines, context, exists));
  TRY(OpenedFile file, found ? *std::move(found) : door.open(request.absolute));
  return OpenedRequest{std::move(request), std::move(file)};
}

}  // namespace weir
