#include "research/retry.h"

namespace weir::research {

std::int64_t most_retries(char gate, const Limits& limits) {
  switch (gate) {
    case 'B':
      return 2;
    case 'C':
    case 'D':
      return 1;
    case 'E':
      return limits.most_reports() - 1;
    default:
      return 0;
  }
}

Retry next_retry(const State& state, const Limits& limits, char gate, const std::string& artifact, std::string_view sha256) {
  Retry out;
  out.most = most_retries(gate, limits);
  const Retries* had = state.retries.find(std::string(1, gate) + " " + artifact);
  if (had != nullptr) {
    for (const Retries::One& given : had->given) {
      ++out.count;
      if (given.refused != sha256) continue;
      out.attempt = out.count;
      out.again = given.directive.get();
    }
  }
  if (out.again == nullptr && out.count < out.most) out.attempt = out.count + 1;
  return out;
}

}  // namespace weir::research
