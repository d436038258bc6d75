// What an answer proves to whoever gets it, and what becomes of that if nobody does. A new one is in doubt until it is taken.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/ids.h"

namespace weir {

class Delivery {
 public:
  virtual ~Delivery() = default;
  // The other side has it, as far as anybody can tell. Does not wait.
  virtual void taken() = 0;
  // Perhaps it has not after all: until `lost` is through, nothing counts on it. Does not wait.
  virtual void doubted() = 0;
  // Nobody has it: what it would prove is taken back. May wait for the store. False: not yet, and it stays in doubt.
  virtual bool lost() = 0;
};
using DeliveryPtr = std::shared_ptr<Delivery>;  // null: the answer proves nothing

// Files whose text is on its way to somebody. Until it is known to have arrived, it is not held. From any thread.
class Doubts {
 public:
  void add(const SessionId& session, const std::string& path);
  void remove(const SessionId& session, const std::string& path);
  bool has(const SessionId& session, const std::string& path);

 private:
  std::mutex mutex_;
  std::map<std::pair<SessionId, std::string>, int> counts_;
};

}  // namespace weir
