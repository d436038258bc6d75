#include "store/named_blob.h"

#include <algorithm>

namespace weir {

Result<void> not_purged(LogReader& reader, const Digest& digest) {
  TRY(const auto purged, reader.purged_blobs());
  if (!std::binary_search(purged.begin(), purged.end(), digest)) return {};
  const std::string name = "sha256:" + digest.hex();
  return Error(ErrorCode::NOT_FOUND, "the bytes of " + name + " were purged").with("object", name);
}

Result<std::string> named_blob(Store& store, LogReader& reader, SessionNo session, const Digest& digest) {
  auto bytes = store.blobs().get(digest);
  if (bytes.ok() || bytes.error().code() != ErrorCode::NOT_FOUND) return bytes;
  const auto why = [&](LogReader& now) -> Result<void> {
    TRY_DO(not_purged(now, digest));
    TRY(const auto sessions, now.sessions());
    if (std::none_of(sessions.begin(), sessions.end(), [&](const SessionRow& row) { return row.no == session; }))
      return Error(ErrorCode::NOT_FOUND, "the session is gone: it was purged meanwhile");
    const std::string name = "sha256:" + digest.hex();
    return Error(ErrorCode::CORRUPT, "blob " + name + " is missing: 'weir verify' names the entries that need it").with("object", name);
  };
  // A purge changes the log before it removes an object, so the log as it is now tells, not as it was when the entry was
  // read. A log in memory has no other moment to look at while it is being read.
  auto told = store.sqlite() == nullptr ? why(reader) : store.log().read(why);
  return std::move(told).error();
}

}  // namespace weir
