#include "store/blobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "base/limits.h"
#include "store/log.h"
#include "store/zstd.h"

namespace weir {
namespace {

constexpr std::string_view kTemporaryPrefix = "tmp-";
constexpr auto kCountAgain = std::chrono::seconds(5);  // at least; counting takes a fiftieth of the time at most
constexpr int kCountShare = 50;

class FileBlobs final : public Blobs {
 public:
  FileBlobs(std::string directory, Files& files, Random& random) : directory_(std::move(directory)), files_(files), random_(random) {}

  Result<Digest> put(std::string_view bytes) override {
    if (bytes.size() > limits::kBlobBytes) return over_limit("bytes of a blob", limits::kBlobBytes, bytes.size());
    const Digest digest = sha256(bytes);
    TRY(const bool there, has(digest));
    if (!there) {
      if (!files_.stat(folder(digest)).ok()) TRY_DO(files_.make_directory(folder(digest)));
      const std::string temporary = fmt::format("{}/{}{:016x}", directory_, kTemporaryPrefix, random_.next());
      const std::string frame = zstd_compress(bytes);
      auto written = files_.write_synced(temporary, frame);
      if (written.ok()) written = files_.rename(temporary, path(digest));
      if (!written.ok()) {
        // What is left of it is a temporary file, which gc removes if this cannot.
        if (auto removed = files_.remove(temporary); !removed.ok()) return std::move(written).error();
        return std::move(written).error();
      }
      carry(frame.size(), 0);
    }
    // Also when it was there: whoever renamed it may not have synced the directory yet.
    unsynced(folder(digest));
    return digest;
  }

  Result<bool> refer(const Digest& digest) override {
    TRY(const bool there, has(digest));
    if (there) unsynced(folder(digest));
    return there;
  }

  Result<void> flush() override {
    // One at a time: whoever finds nothing to sync must know that the sync of another is done. Folders leave the list
    // before they are synced, because what is renamed into one from then on needs a sync of its own.
    const std::lock_guard flushing(flush_mutex_);
    std::set<std::string> folders;
    {
      const std::lock_guard lock(mutex_);
      folders.swap(unsynced_);
    }
    const std::set<std::string> all = folders;
    while (!folders.empty()) {
      // The directory above them comes first.
      auto synced = files_.sync_directory(*folders.begin());
      const std::lock_guard lock(mutex_);
      if (!synced.ok()) {
        unsynced_.merge(folders);
        return synced;
      }
      if (*folders.begin() == directory_) named_.insert(all.begin(), all.end());
      folders.erase(folders.begin());
    }
    return {};
  }

  Result<bool> has(const Digest& digest) override {
    auto found = files_.stat(path(digest));
    if (found.ok()) return true;
    if (found.error().code() == ErrorCode::NOT_FOUND) return false;
    return std::move(found).error();
  }

  Result<std::string> get(const Digest& digest) override {
    auto frame = files_.read(path(digest), limits::kBlobBytes + limits::kMiB);
    if (!frame.ok() && frame.error().code() == ErrorCode::NOT_FOUND) {
      return Error(ErrorCode::NOT_FOUND, "no blob sha256:" + digest.hex()).with("object", "sha256:" + digest.hex());
    }
    TRY_DO(frame);
    const auto corrupt = [&](std::string_view why) {
      return Error(ErrorCode::CORRUPT, "blob sha256:" + digest.hex() + " is damaged: " + std::string(why))
          .with("object", "sha256:" + digest.hex());
    };
    auto bytes = zstd_decompress(*frame, limits::kBlobBytes);
    if (!bytes.ok()) return corrupt(bytes.error().message());
    if (sha256(*bytes) != digest) return corrupt("its bytes have another hash");
    return bytes;
  }

  Result<void> remove(const Digest& digest) override {
    const std::uint64_t bytes = stored_bytes(digest);
    TRY_DO(files_.remove(path(digest)));
    carry(0, bytes);
    return files_.sync_directory(folder(digest));
  }

  Result<Listed> list() override {
    Listed out;
    auto folders = files_.list(directory_);
    if (!folders.ok() && folders.error().code() == ErrorCode::NOT_FOUND) return out;
    TRY_DO(folders);
    for (const std::string& name : *folders) {
      if (name.starts_with(kTemporaryPrefix)) {
        out.temporary.push_back(directory_ + "/" + name);
        continue;
      }
      auto files = files_.list(directory_ + "/" + name);
      if (!files.ok() && files.error().code() != ErrorCode::NOT_FOUND) return std::move(files).error();
      if (!files.ok() || name.size() != 2) {
        out.strangers.push_back(directory_ + "/" + name);
        continue;
      }
      for (const std::string& rest : *files) {
        const auto digest = Digest::parse(name + rest);
        if (digest.ok()) {
          out.objects.push_back(*digest);
        } else {
          out.strangers.push_back(directory_ + "/" + name + "/" + rest);
        }
      }
    }
    return out;
  }

  Result<std::uint64_t> remove_old_temporary(TimeMs now) override {
    TRY(const Listed listed, list());
    std::uint64_t removed = 0;
    for (const std::string& temporary : listed.temporary) {
      const auto st = files_.stat(temporary);
      if (!st.ok() || now.ms - st->modified_ms < kOldTemporaryMs) continue;
      TRY_DO(files_.remove(temporary));
      ++removed;
    }
    return removed;
  }

  std::uint64_t stored_bytes(const Digest& digest) override {
    const auto st = files_.stat(path(digest));
    return st.ok() ? st->size : 0;
  }

  Result<std::uint64_t> total_bytes() override {
    using Clock = std::chrono::steady_clock;
    const auto began = Clock::now();
    {
      const std::lock_guard lock(mutex_);
      if (total_ && began < count_again_) return *total_;
    }
    TRY(const Listed listed, list());
    std::uint64_t total = 0;
    for (const Digest& digest : listed.objects) total += stored_bytes(digest);
    const std::lock_guard lock(mutex_);
    total_ = total;
    const auto now = Clock::now();
    count_again_ = now + std::max<Clock::duration>(kCountAgain, kCountShare * (now - began));
    return total;
  }

 private:
  std::string folder(const Digest& digest) const { return directory_ + "/" + digest.hex().substr(0, 2); }
  std::string path(const Digest& digest) const { return folder(digest) + "/" + digest.hex().substr(2); }
  void unsynced(const std::string& name) {
    const std::lock_guard lock(mutex_);
    unsynced_.insert(name);
    // Whoever made the folder may have died before its name was durable.
    if (!named_.contains(name)) unsynced_.insert(directory_);
  }

  void carry(std::uint64_t added, std::uint64_t removed) {
    const std::lock_guard lock(mutex_);
    if (total_) *total_ = *total_ + added - std::min(*total_ + added, removed);
  }

  const std::string directory_;
  Files& files_;
  Random& random_;
  std::mutex flush_mutex_;  // before mutex_
  std::mutex mutex_;        // all below
  std::set<std::string> unsynced_;
  std::set<std::string> named_;  // folders whose names are known to be durable
  std::optional<std::uint64_t> total_;
  std::chrono::steady_clock::time_point count_again_;
};

class MemoryBlobs final : public Blobs {
 public:
  Result<Digest> put(std::string_view bytes) override {
    if (bytes.size() > limits::kBlobBytes) return over_limit("bytes of a blob", limits::kBlobBytes, bytes.size());
    const Digest digest = sha256(bytes);
    const std::lock_guard lock(mutex_);
    objects_.emplace(digest, bytes);
    return digest;
  }
  Result<void> flush() override { return {}; }
  Result<bool> has(const Digest& digest) override {
    const std::lock_guard lock(mutex_);
    return objects_.contains(digest);
  }
  Result<bool> refer(const Digest& digest) override { return has(digest); }
  Result<std::string> get(const Digest& digest) override {
    const std::lock_guard lock(mutex_);
    const auto it = objects_.find(digest);
    if (it == objects_.end()) return Error(ErrorCode::NOT_FOUND, "no blob sha256:" + digest.hex()).with("object", "sha256:" + digest.hex());
    return it->second;
  }
  Result<void> remove(const Digest& digest) override {
    const std::lock_guard lock(mutex_);
    objects_.erase(digest);
    return {};
  }
  Result<Listed> list() override {
    const std::lock_guard lock(mutex_);
    Listed out;
    for (const auto& [digest, bytes] : objects_) out.objects.push_back(digest);
    return out;
  }
  Result<std::uint64_t> remove_old_temporary(TimeMs) override { return std::uint64_t{0}; }
  std::uint64_t stored_bytes(const Digest& digest) override {
    const std::lock_guard lock(mutex_);
    const auto it = objects_.find(digest);
    return it == objects_.end() ? 0 : it->second.size();
  }
  Result<std::uint64_t> total_bytes() override {
    const std::lock_guard lock(mutex_);
    std::uint64_t total = 0;
    for (const auto& [digest, bytes] : objects_) total += bytes.size();
    return total;
  }

 private:
  std::mutex mutex_;
  std::map<Digest, std::string> objects_;
};

}  // namespace

std::unique_ptr<Blobs> make_file_blobs(std::string directory, Files& files, Random& random) {
  return std::make_unique<FileBlobs>(std::move(directory), files, random);
}

std::unique_ptr<Blobs> make_memory_blobs() { return std::make_unique<MemoryBlobs>(); }

}  // namespace weir
