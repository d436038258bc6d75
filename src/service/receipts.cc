#include "service/receipts.h"

#include <algorithm>
#include <chrono>

#include "base/sha256.h"

namespace weir {
namespace {

// Long enough that reads one after another share a commit, short enough that another process hardly notices.
constexpr auto kGather = std::chrono::milliseconds(5);
constexpr std::size_t kMostUnrecorded = 4096;

}  // namespace

class LoggedReceipt final : public Receipt {
 public:
  LoggedReceipt(Receipts& receipts, const Receipts::Read& read) : receipts_(receipts), read_(read) {}
  void received() override {
    const std::lock_guard lock(mutex_);
    if (state_ == State::sent) receipts_.received(read_);
    if (state_ == State::sent) state_ = State::received;
  }
  void lost() override {
    const std::lock_guard lock(mutex_);
    if (state_ == State::received) receipts_.lost_after_all(read_);
    state_ = State::lost;
  }

 private:
  Receipts& receipts_;
  const Receipts::Read read_;
  enum class State { sent, received, lost };
  std::mutex mutex_;
  State state_ = State::sent;
};

std::uint64_t Receipts::hash_of(std::string_view path) { return sha256(path).prefix64(); }

ReceiptPtr Receipts::receipt(const Read& read) { return std::make_shared<LoggedReceipt>(*this, read); }

std::uint64_t Receipts::moment() {
  std::unique_lock lock(mutex_);
  unchanging_.wait_for(lock, kGather, [this] { return !changing_; });
  return moment_;
}

Result<std::vector<Seq>> Receipts::undelivered(LogReader& reader, SessionNo session, std::string_view path, std::uint64_t moment,
                                               bool& of_now) {
  const std::uint64_t hash = hash_of(path);
  TRY(std::vector<Seq> out, reader.undelivered(session, hash));
  const std::lock_guard lock(mutex_);
  of_now = !changing_ && moment == moment_;
  for (auto known = received_.lower_bound({session, hash, 0}); of_now && known != received_.end(); ++known) {
    const auto& [read, times] = *known;
    if (read.session != session || read.path != hash) break;
    const auto first = std::lower_bound(out.begin(), out.end(), read.seq), last = std::upper_bound(first, out.end(), read.seq);
    out.erase(first, first + std::min<std::ptrdiff_t>(last - first, static_cast<std::ptrdiff_t>(times)));
  }
  for (auto lost = lost_.lower_bound({session, hash, 0}); lost != lost_.end() && lost->session == session && lost->path == hash; ++lost) {
    if (std::find(out.begin(), out.end(), lost->seq) == out.end()) out.push_back(lost->seq);
  }
  return out;
}

Result<std::uint64_t> Receipts::count_undelivered(LogReader& reader, SessionNo session) {
  TRY(const std::uint64_t noted, reader.count_undelivered(session));
  const std::lock_guard lock(mutex_);
  const auto received = static_cast<std::uint64_t>(
      std::count_if(received_.begin(), received_.end(), [&](const auto& known) { return known.first.session == session; }));
  const auto lost = std::count_if(lost_.begin(), lost_.end(), [&](const Read& read) { return read.session == session; });
  return noted - std::min(noted, received) + static_cast<std::uint64_t>(lost);
}

void Receipts::sent_unrecorded(const SessionId& session, const std::string& path, const std::string& name) {
  const std::lock_guard lock(mutex_);
  // Too many to remember: then it may be any file of any session.
  if (unrecorded_.size() >= kMostUnrecorded) return;
  unrecorded_.emplace(session, path);
  unrecorded_.emplace(session, name);
}

bool Receipts::was_sent_unrecorded(const SessionId& session, const std::string& path_or_name) {
  const std::lock_guard lock(mutex_);
  return unrecorded_.size() >= kMostUnrecorded || unrecorded_.contains({session, path_or_name});
}

void Receipts::told_unrecorded(const SessionId& session, const std::string& path, const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (unrecorded_.size() >= kMostUnrecorded) return;
  unrecorded_.erase({session, path});
  unrecorded_.erase({session, name});
}

void Receipts::received(const Read& read) {
  std::unique_lock lock(mutex_);
  ++received_[read];
  change(lock, read, true);
}

void Receipts::lost_after_all(const Read& read) {
  std::unique_lock lock(mutex_);
  forget_received(read);
  lost_.insert(read);
  change(lock, read, false);
}

void Receipts::forget_received(const Read& read) {
  const auto known = received_.find(read);
  if (known != received_.end() && --known->second == 0) received_.erase(known);
}

void Receipts::change(std::unique_lock<std::mutex>& lock, const Read& read, bool arrived) {
  changes_.push_back({read, arrived});
  if (closing_) return;
  if (!writer_.joinable()) writer_ = std::thread([this] { run(); });
  lock.unlock();
  changed_.notify_one();
}

void Receipts::run() {
  std::unique_lock lock(mutex_);
  while (!closing_) {
    changed_.wait(lock, [this] { return closing_ || !changes_.empty(); });
    changed_.wait_for(lock, kGather, [this] { return closing_; });
    write(lock);
  }
}

void Receipts::write(std::unique_lock<std::mutex>& lock) {
  if (changes_.empty()) return;
  const std::vector<Change> batch = std::exchange(changes_, {});
  lock.unlock();
  const auto done = log_.write(
      [&](LogTxn& txn) -> Result<void> {
        {
          const std::lock_guard changing(mutex_);
          changing_ = true;
          ++moment_;
        }
        for (const Change& each : batch) {
          const auto& [session, path, seq] = each.read;
          if (each.arrived) {
            TRY_DO(txn.drop_undelivered(session, path, seq));
            continue;
          }
          // Its session may have been purged.
          TRY(const auto entry, txn.entry(session, seq, Columns::without_body));
          if (entry) TRY_DO(txn.add_undelivered(session, path, seq));
        }
        return {};
      },
      Log::Grouping::hint);
  lock.lock();
  changing_ = false;
  unchanging_.notify_all();
  for (const Change& each : batch) {
    if (each.arrived) forget_received(each.read);
    if (!each.arrived && done.ok()) lost_.erase(each.read);
  }
}

void Receipts::close() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  if (writer_.joinable()) writer_.join();
  std::unique_lock lock(mutex_);
  write(lock);
}

}  // namespace weir
