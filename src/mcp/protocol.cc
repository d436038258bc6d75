#include "mcp/protocol.h"

#include <algorithm>
#include <array>

namespace weir::mcp {
namespace {

constexpr std::array<std::string_view, 5> kRevisions = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"};
constexpr std::array<std::string_view, 8> kLevels = {"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"};

// From which revision on.
constexpr std::pair<Feature, Revision> kSince[] = {
    {Feature::annotations, Revision::v2025_03_26},
    {Feature::completions, Revision::v2025_03_26},
    {Feature::structured, Revision::v2025_06_18},
    {Feature::result_type, Revision::v2026_07_28},
};

}  // namespace

std::string_view revision_name(Revision revision) { return kRevisions[static_cast<std::size_t>(revision)]; }

std::optional<Revision> parse_revision(std::string_view name) {
  const auto found = std::find(kRevisions.begin(), kRevisions.end(), name);
  if (found == kRevisions.end()) return std::nullopt;
  return static_cast<Revision>(found - kRevisions.begin());
}

bool has(Revision revision, Feature feature) {
  for (const auto& [what, since] : kSince)
    if (what == feature) return revision >= since;
  return false;
}

std::optional<int> log_level(std::string_view name) {
  const auto found = std::find(kLevels.begin(), kLevels.end(), name);
  if (found == kLevels.end()) return std::nullopt;
  return static_cast<int>(found - kLevels.begin());
}

}  // namespace weir::mcp
