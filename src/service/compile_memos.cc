#include "service/compile_memos.h"

#include <algorithm>

namespace weir {

std::unique_ptr<ctree::CompileMemo> CompileMemos::take(SessionNo session, const std::string& config) {
  const std::lock_guard lock(mutex_);
  const auto it =
      std::find_if(kept_.begin(), kept_.end(), [&](const Kept& kept) { return kept.session == session && kept.config == config; });
  if (it == kept_.end()) return std::make_unique<ctree::CompileMemo>();
  auto memo = std::move(it->memo);
  kept_.erase(it);
  return memo;
}

void CompileMemos::give_back(SessionNo session, const std::string& config, std::unique_ptr<ctree::CompileMemo> memo) {
  const std::lock_guard lock(mutex_);
  kept_.push_front({session, config, std::move(memo)});
  if (kept_.size() > kMost) kept_.pop_back();
}

void CompileMemos::forget() {
  const std::lock_guard lock(mutex_);
  kept_.clear();
}

}  // namespace weir
