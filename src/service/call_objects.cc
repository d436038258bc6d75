#include "service/call_objects.h"

#include "base/limits.h"

namespace weir {

Result<Digest> CallObjects::put(std::string_view bytes) {
  if (bytes.size() > limits::kBlobBytes) return over_limit("bytes of a blob", limits::kBlobBytes, bytes.size());
  const Digest digest = sha256(bytes);
  if (mode_ == Mode::direct) {
    TRY_DO(store(digest, bytes));
  } else {
    const std::lock_guard lock(mutex_);
    deferred_.emplace(digest, mode_ == Mode::dry_run ? std::string_view() : bytes);
  }
  return digest;
}

bool CallObjects::is_deferred(const Digest& digest) {
  const std::lock_guard lock(mutex_);
  return deferred_.contains(digest);
}

Result<bool> CallObjects::has(const Digest& digest) {
  if (is_deferred(digest)) return true;
  return blobs_.has(digest);
}

Result<std::string> CallObjects::get(const Digest& digest) {
  if (mode_ == Mode::deferred) {
    const std::lock_guard lock(mutex_);
    if (const auto it = deferred_.find(digest); it != deferred_.end()) return it->second;
  }
  return blobs_.get(digest);
}

Result<bool> CallObjects::refer(const Digest& digest) {
  if (is_deferred(digest)) return true;
  return blobs_.refer(digest);
}

Result<void> CallObjects::store(const Digest& digest, std::string_view bytes) {
  TRY(const bool there, blobs_.has(digest));
  if (!there) {
    const std::lock_guard lock(mutex_);
    made_.insert(digest);
  }
  TRY_DO(blobs_.put(bytes));
  return {};
}

Result<void> CallObjects::write_out() {
  if (mode_ != Mode::deferred) return {};
  for (const auto& [digest, bytes] : deferred_) TRY_DO(store(digest, bytes));
  return {};
}

Result<void> CallObjects::settle(LogTxn& txn) {
  if (made_.empty()) return {};
  TRY(const auto purged, txn.purged_blobs());
  for (const Digest& digest : purged) {
    if (made_.contains(digest)) TRY_DO(txn.unmark_purged(digest));
  }
  return {};
}

void CallObjects::take_back() {
  for (const Digest& digest : made_) {
    if (auto removed = blobs_.remove(digest); !removed.ok()) continue;
  }
  made_.clear();
}

}  // namespace weir
