#include "service/undelivered.h"

#include <set>
#include <vector>

#include "service/receipts.h"
#include "session/address.h"

namespace weir {
namespace {

// More answers of one file that may be lost than this are not told apart: then nothing is known of the file.
constexpr std::size_t kMostUndelivered = 64;

}  // namespace

Result<void> leave_out_undelivered(Service& service, LogReader& reader, SessionNo session, Seq leaf, const std::string& path,
                                   std::uint64_t moment, bool& of_now, TrustFold::State& state) {
  if (state.paths.find(path) == nullptr) return {};
  TRY(auto undelivered, service.receipts().undelivered(reader, session, path, moment, of_now));
  of_now = of_now || undelivered.empty();  // then it makes no difference
  if (!undelivered.empty() && leaf != 0) {
    // What was shown before the barrier is not held anyway.
    TRY(const auto at, reader.entry(session, leaf, Columns::without_body));
    if (at) std::erase_if(undelivered, [&](Seq seq) { return seq < at->barrier; });
  }
  if (undelivered.size() > kMostUndelivered) {
    state.paths.erase(path);
    return {};
  }
  for (const Seq seq : undelivered) {
    TRY(const EntryId id, id_at(reader, session, seq));
    service.settings().trust.doubt(state, id.str());
  }
  return {};
}

Result<void> leave_out_undelivered(Service& service, LogReader& reader, SessionNo session, Seq leaf, TrustFold::State& state) {
  TRY(const std::uint64_t count, service.receipts().count_undelivered(reader, session));
  if (count == 0) return {};
  std::set<std::uint64_t> noted;
  TRY(const auto rows, reader.all_undelivered());
  for (const UndeliveredRow& row : rows) noted.insert(row.path);
  std::vector<std::string> paths;
  state.paths.each([&](const std::string& path, const PathTrust&) {
    if (noted.contains(Receipts::hash_of(path))) paths.push_back(path);
  });
  bool of_now = true;
  const std::uint64_t moment = service.receipts().moment();
  for (const std::string& path : paths) TRY_DO(leave_out_undelivered(service, reader, session, leaf, path, moment, of_now, state));
  return {};
}

}  // namespace weir
