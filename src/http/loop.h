// Owns every connection: waits for sockets, letters and deadlines, and never for anything else.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>

#include "http/connection.h"
#include "http/limits.h"
#include "http/listener.h"
#include "http/mailbox.h"
#include "http/relay.h"
#include "http/site.h"

namespace weir::http {

class Loop {
 public:
  Loop(std::unique_ptr<Listener> listener, const Limits& limits, Site& site);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  const std::string& url() const { return url_; }
  // BUSY if the system had no descriptors for it; a loop that cannot is not to be run.
  Result<void> can_run() const;
  // Until `signal` answers one and what was under way is over, or it answers another.
  Result<void> run(const std::function<int()>& signal);
  // For the site's turn_over: works in this thread, without holding the loop up. False: not now, and nothing was done.
  bool work_here(const std::function<void()>& work);

 private:
  bool step(const std::function<int()>& signal);  // false: it was the last
  bool turn();                                    // false: the wait itself failed
  int wait_ms() const;
  void take_connections();
  void stop_listening(Tick until);
  void make_room_for_stranger();
  bool take_in(Connection& connection);
  bool make_room();
  void deliver();
  void sweep();
  void settle(Connection& connection);                                             // what it waits for has changed, or it is over
  bool watch(int descriptor, std::uint64_t id, std::uint32_t events, bool added);  // false: there can be no more
  bool drained();

  const std::string url_;
  std::unique_ptr<Listener> listener_;
  const Limits limits_;
  Common common_;
  int epoll_ = -1;
  std::map<std::uint64_t, std::unique_ptr<Connection>> connections_;
  std::map<std::uint64_t, Tick> strangers_;  // those of them that are not known and when they came, the oldest first
  std::uint64_t next_id_ = 0;
  Tick next_deadline_ = 0, date_until_ = 0, accept_again_ = 0;
  bool listening_ = true;

  enum class Drain { no, shown, closed } drain_ = Drain::no;
  Tick drain_began_ = 0;
  int signal_ = 0, signals_ = 0;  // the last one seen, how many
  int failed_ = 0;                // errno of a wait
  std::unique_ptr<Relay> relay_;  // while it runs
};

}  // namespace weir::http
