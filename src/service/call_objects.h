// One call's view of the store's objects. Objects are written only under the log's write lock: so a call that fails may
// take back what it made, because nobody else can refer to it yet, and gc never meets one that is about to be named.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>

#include "store/blobs.h"
#include "store/log.h"

namespace weir {

class CallObjects final : public Blobs {
 public:
  enum class Mode {
    direct,    // written at once: the call holds the lock
    deferred,  // kept in memory until write_out(), because the lock is taken later
    dry_run,   // never written; the answers are the same
  };
  CallObjects(Blobs& blobs, Mode mode) : blobs_(blobs), mode_(mode) {}

  Result<Digest> put(std::string_view bytes) override;
  Result<bool> has(const Digest& digest) override;
  Result<bool> refer(const Digest& digest) override;
  Result<void> flush() override { return blobs_.flush(); }
  Result<std::string> get(const Digest& digest) override;
  Result<void> remove(const Digest& digest) override { return blobs_.remove(digest); }
  Result<Listed> list() override { return blobs_.list(); }
  Result<std::uint64_t> remove_old_temporary(TimeMs now) override { return blobs_.remove_old_temporary(now); }
  std::uint64_t stored_bytes(const Digest& digest) override { return blobs_.stored_bytes(digest); }
  Result<std::uint64_t> total_bytes() override { return blobs_.total_bytes(); }

  // Under the lock: stores what was deferred. May be called again.
  Result<void> write_out();
  // Under the lock, once all of it is written: what was purged earlier and is stored again counts as damage if it is lost.
  Result<void> settle(LogTxn& txn);
  // Under the lock: removes what this call made. What cannot be removed is left to gc.
  void take_back();

 private:
  bool is_deferred(const Digest& digest);
  Result<void> store(const Digest& digest, std::string_view bytes);

  Blobs& blobs_;
  const Mode mode_;
  std::mutex mutex_;  // deferred_, made_: an import prepares lines in two threads
  std::map<Digest, std::string> deferred_;
  std::set<Digest> made_;
};

}  // namespace weir
