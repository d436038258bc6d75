#include "service/delivery.h"

namespace weir {

void Doubts::add(const SessionId& session, const std::string& path) {
  const std::lock_guard lock(mutex_);
  ++counts_[{session, path}];
}

void Doubts::remove(const SessionId& session, const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto found = counts_.find({session, path});
  if (found != counts_.end() && --found->second == 0) counts_.erase(found);
}

bool Doubts::has(const SessionId& session, const std::string& path) {
  const std::lock_guard lock(mutex_);
  return counts_.contains({session, path});
}

}  // namespace weir
