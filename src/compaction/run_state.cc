#include "compaction/run_state.h"

namespace weir::compaction {
namespace {

constexpr std::string_view kClaimStatuses[] = {"candidate", "verified", "retracted"};
constexpr std::string_view kFailureStatuses[] = {"active", "resolved", "superseded"};

}  // namespace

std::string Pointer::str() const {
  std::string out = "e";
  for (int shift = 60; shift >= 0; shift -= 4) out += "0123456789abcdef"[bits >> shift & 15];
  return out;
}

std::string_view status_name(ClaimStatus status) { return kClaimStatuses[static_cast<int>(status)]; }
std::string_view status_name(FailureStatus status) { return kFailureStatuses[static_cast<int>(status)]; }

RunState::RunState() = default;
RunState::RunState(const RunState&) = default;
RunState::RunState(RunState&&) noexcept = default;
RunState& RunState::operator=(const RunState&) = default;
RunState& RunState::operator=(RunState&&) noexcept = default;
RunState::~RunState() = default;

}  // namespace weir::compaction
