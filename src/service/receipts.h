// Whether the answers of recorded reads have arrived.
//
// The record of a read is in the log before its answer leaves. Beside it, in the same commit, stands a note that the answer is on its
// way (LogTxn::add_undelivered). While the note stands no process counts on the record; it goes when the answer is known to have
// arrived, and stays for good if that is never known. Taking it away needs no sync: a note that comes back after a power cut costs a
// text that is sent once more.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "service/receipt.h"
#include "store/log.h"

namespace weir {

class Receipts {
 public:
  // A read on record.
  struct Read {
    SessionNo session;
    std::uint64_t path = 0;  // hashed, see hash_of
    Seq seq = 0;
    auto operator<=>(const Read&) const = default;
  };
  static std::uint64_t hash_of(std::string_view path);

  explicit Receipts(Log& log) : log_(log) {}
  ~Receipts() { close(); }
  Receipts(const Receipts&) = delete;
  Receipts& operator=(const Receipts&) = delete;

  // The receipt of an answer whose note is in the log. It must not outlive this object.
  ReceiptPtr receipt(const Read& read);

  // A number that changes each time this process takes notes out of the log. Ask for it before reading the log, and hand it to
  // undelivered(), which then can tell whether what the reader sees is as old as what this object remembers. May wait for a commit
  // that is under way, a few milliseconds at most.
  std::uint64_t moment();

  // The reads of a file whose answers are not known to have arrived, once for each answer. `of_now` is set to false if notes were
  // taken out of the log since `moment`: then an answer that has just been received may still be among them.
  Result<std::vector<Seq>> undelivered(LogReader& reader, SessionNo session, std::string_view path, std::uint64_t moment, bool& of_now);

  // How many of a session's, of all its files.
  Result<std::uint64_t> count_undelivered(LogReader& reader, SessionNo session);

  // Something was sent of this file, under this name, and no record of it could be stored: for this process the log no longer says
  // what was shown last of either, until it is told there that nothing is known.
  void sent_unrecorded(const SessionId& session, const std::string& path, const std::string& name);
  bool was_sent_unrecorded(const SessionId& session, const std::string& path_or_name);
  void told_unrecorded(const SessionId& session, const std::string& path, const std::string& name);

  // Writes what is still to be written, and ends the thread that does it.
  void close();

 private:
  friend class LoggedReceipt;
  struct Change {
    Read read;
    bool arrived;
  };
  void received(const Read& read);
  void lost_after_all(const Read& read);
  void forget_received(const Read& read);
  void change(std::unique_lock<std::mutex>& lock, const Read& read, bool arrived);
  void run();
  void write(std::unique_lock<std::mutex>& lock);

  Log& log_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Change> changes_;  // to be written
  // How many answers of a read were received of which the log still has a note. The same read may be answered again after its head
  // was moved back, or at another head.
  std::map<Read, std::size_t> received_;
  std::set<Read> lost_;  // after all, and the note is not back yet
  std::uint64_t moment_ = 0;
  bool changing_ = false;               // a commit that takes notes out of the log is under way
  std::condition_variable unchanging_;  // it is done
  std::set<std::pair<SessionId, std::string>> unrecorded_;
  std::thread writer_;  // begun by the first change
  bool closing_ = false;
};

}  // namespace weir
