#include "store/log.h"

#include <algorithm>

namespace weir {

Result<std::vector<Seq>> LogReader::undelivered(SessionNo session, std::uint64_t path) {
  TRY(const auto rows, all_undelivered());
  std::vector<Seq> out;
  for (const UndeliveredRow& row : rows) {
    if (row.session == session && row.path == path) out.insert(out.end(), row.times, row.seq);
  }
  std::sort(out.begin(), out.end());
  return out;
}

Result<std::uint64_t> LogReader::count_undelivered(SessionNo session) {
  TRY(const auto rows, all_undelivered());
  const auto of_session = [&](const UndeliveredRow& row) { return row.session == session; };
  return static_cast<std::uint64_t>(std::count_if(rows.begin(), rows.end(), of_session));
}

}  // namespace weir
