// Reads answered to a host that owns its log, until the host's log says what became of them. They count at once for the
// reads that follow at the same place, so that parallel calls do not get the same content twice, and are gone with the
// process: what the log does not say was never shown.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "readcache/trust.h"
#include "session/read_record.h"
#include "store/log.h"

namespace weir {

class PendingReads {
 public:
  struct Read {
    ReadRecord record;
    std::string call_id;  // empty: the host did not name it
    std::uint64_t number = 0;
  };

  // The reads in flight at one head. Held by whoever decides there, so that siblings are decided one after another.
  class Place {
   public:
    // Where the head stands now, and for which call: confirms what the log has, drops what it cannot have any more.
    struct Arrival {
      Seq leaf = 0;
      std::string turn;                // of the call; empty: the host does not name it
      bool leaf_has_children = false;  // as the host sees its own log
    };
    Result<void> arrive(LogReader& reader, SessionNo session, const Arrival& arrival);
    // The state as if they had been appended.
    void apply(const TrustFold& fold, TrustFold::State& state) const;
    bool speaks_of(const std::string& path) const;
    std::uint64_t add(Read read);  // its number

   private:
    friend class PendingReads;
    Result<void> follow(LogReader& reader, SessionNo session, Seq leaf);
    void settle(const Entry& entry);

    std::mutex mutex_;
    SessionNo session_;        // none yet: it was not there
    Seq leaf_ = 0, last_ = 0;  // of the session, when it was looked at last
    std::string turn_;
    bool moved_ = false;         // the leaf, since the first of them
    bool has_children_ = false;  // the leaf, when it was looked at last
    std::vector<Read> reads_;
  };

  class Hold {
   public:
    Hold(std::shared_ptr<Place> place, std::unique_lock<std::mutex> lock) : place_(std::move(place)), lock_(std::move(lock)) {}
    Place* operator->() const { return place_.get(); }

   private:
    std::shared_ptr<Place> place_;
    std::unique_lock<std::mutex> lock_;
  };
  Hold hold(const SessionId& session, const HeadName& head);

  // The host's log has moved on; its head stands at `leaf`.
  Result<void> follow(LogReader& reader, const SessionRow& session, const HeadName& head, Seq leaf);
  // The host gave these calls up.
  void abort(const SessionId& session, const std::vector<std::string>& call_ids);
  // The answer reached nobody.
  void forget(const SessionId& session, std::uint64_t number);
  // Trust was withdrawn.
  void drop(const SessionId& session);
  // The session is gone; one of its name would be another.
  void purged(const SessionId& session);

  // A host hands over its log in this process: what it does to its context reaches the log before it reads again.
  void begin_sync(const SessionId& session);
  bool is_synced(const SessionId& session);

  std::uint64_t count(const SessionId& session);
  // Is a read of this file, or under this name, in flight anywhere in the session?
  bool speaks_of(const SessionId& session, const std::string& path, const std::string& name);
  // Versions they speak of, which must not be collected.
  std::vector<std::string> versions();

 private:
  std::vector<std::shared_ptr<Place>> places(const SessionId& session);

  std::mutex mutex_;
  std::map<std::pair<SessionId, HeadName>, std::shared_ptr<Place>> places_;
  std::set<SessionId> synced_;
};

}  // namespace weir
