// A client that was introduced by `initialize`, or the one process at the other end of standard input: what was agreed, what
// it has under way, what it listens to.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/workers.h"
#include "mcp/task.h"

namespace weir::mcp {

class Peer : public std::enable_shared_from_this<Peer> {
 public:
  // How messages reach it that belong to no request; false: it does not hear.
  using Send = std::function<bool(std::string_view message)>;
  explicit Peer(Send send) : send_(std::move(send)) {}

  bool send(std::string_view message) { return send_(message); }

  // ---- what initialize agreed ----
  void agree(Revision revision, std::string capabilities);
  std::optional<Revision> revision() const;  // nothing before initialize
  std::string capabilities() const;          // of the client, as JSON
  void set_level(int level);
  std::optional<int> level() const;
  void subscribe(const std::string& uri, bool wanted);
  std::set<std::string> subscribed() const;

  // Where it works, if it said so. The old ones hold until there are new ones.
  bool knows_roots() const;
  void set_roots(std::optional<std::vector<std::string>> roots);
  std::optional<std::vector<std::string>> roots() const;
  void forget_roots();
  std::mutex& asking_roots() { return asking_roots_; }

  // ---- requests under way ----
  bool begin(const std::shared_ptr<Task>& task);  // false: one of that id is under way
  void end(const Task& task);
  // What is answered with it counts for nothing either, even if it seemed to have arrived: the client throws it away.
  void cancel(std::string_view id_text);
  void cancel_all();
  // Is about to be answered with something that proves something.
  void answering(const Task& task);

  // What belongs to one name (a session of the log) is done in the order in which it came, each on some worker.
  void in_order(const std::string& name, std::function<void()> work, api::Workers& workers);

  // ---- requests to the client; legacy only ----
  // Sends over the task's channel and waits. Nothing: no answer, it was cancelled, or the time is over.
  struct Answer {
    std::string result;  // JSON; empty: an error
    std::string error;
  };
  std::optional<Answer> ask(Task& task, std::string_view method, const json::Value& params, std::chrono::milliseconds patience);
  // An answer that arrived. False: nobody asked.
  bool answered(std::string_view id_text, Answer answer);

 private:
  const Send send_;
  static constexpr std::size_t kAnsweredKept = 64;  // who takes an older one back is not heard
  mutable std::mutex mutex_;
  std::deque<std::pair<std::string, ReceiptPtr>> answered_;  // the last few, by the id of the request
  std::condition_variable heard_;
  std::optional<Revision> revision_;
  std::string capabilities_ = "{}";
  std::optional<int> level_;
  std::set<std::string> subscribed_;
  std::mutex asking_roots_;
  bool knows_roots_ = false;
  std::optional<std::vector<std::string>> roots_;
  std::map<std::string, std::shared_ptr<Task>, std::less<>> under_way_;
  std::map<std::string, std::optional<Answer>, std::less<>> asked_;
  std::uint64_t next_ask_ = 1;
  std::map<std::string, std::deque<std::function<void()>>> waiting_;  // behind what is being done
};

}  // namespace weir::mcp
