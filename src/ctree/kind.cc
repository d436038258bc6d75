#include "ctree/kind.h"

#include <algorithm>

#include "base/secrets.h"
#include "base/utf8.h"

namespace weir::ctree {
namespace {

constexpr std::size_t kMostCodePoints = 64;
constexpr std::string_view kReserved[] = {kCheckpoint, kContextEdit, kSnapshotAttached, kCollapsed, "root", "turn", "*"};

Error invalid(std::string_view kind, std::string_view why) {
  return Error(ErrorCode::KIND_INVALID, "the kind '" + masked_excerpt(kind, 80) + "' " + std::string(why))
      .with("kind", masked_excerpt(kind, 80));
}

}  // namespace

Result<void> check_kind(std::string_view kind) {
  if (kind.empty()) return invalid(kind, "is empty");
  std::size_t count = 0;
  for (std::size_t at = 0; at < kind.size(); ++count) {
    const auto c = decode_utf8(kind, at);
    if (!c || weir::is_control(*c)) return invalid(kind, "has a control character");
  }
  if (count > kMostCodePoints) return invalid(kind, "has " + std::to_string(count) + " code points, the limit is 64");
  if (std::find(std::begin(kReserved), std::end(kReserved), kind) != std::end(kReserved)) return invalid(kind, "is the compiler's own");
  return {};
}

}  // namespace weir::ctree
