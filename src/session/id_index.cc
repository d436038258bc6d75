#include "session/id_index.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/sha256.h"

namespace weir {

void IdIndex::set(std::string_view name, std::uint32_t number) {
  const std::uint64_t key = sha256(name).prefix64();
  recent_.push_back({static_cast<std::uint32_t>(key >> 32), static_cast<std::uint32_t>(key), number});
  ++size_;
  if (recent_.size() < kRecent) return;
  // A number set later stands before one set earlier, and of equal keys the first stays.
  Run run(recent_.rbegin(), recent_.rend());
  recent_.clear();
  const auto less = [](const Item& a, const Item& b) { return a.key() < b.key(); };
  const auto same = [](const Item& a, const Item& b) { return a.key() == b.key(); };
  std::stable_sort(run.begin(), run.end(), less);
  while (!runs_.empty() && runs_.back()->size() < 2 * run.size()) {
    Run merged;
    merged.reserve(run.size() + runs_.back()->size());
    std::merge(run.begin(), run.end(), runs_.back()->begin(), runs_.back()->end(), std::back_inserter(merged), less);
    run = std::move(merged);
    runs_.pop_back();
  }
  run.erase(std::unique(run.begin(), run.end(), same), run.end());
  runs_.push_back(std::make_shared<const Run>(std::move(run)));
}

std::optional<std::uint32_t> IdIndex::find(std::string_view name) const {
  const std::uint64_t key = sha256(name).prefix64();
  for (auto it = recent_.rbegin(); it != recent_.rend(); ++it) {
    if (it->key() == key) return it->number;
  }
  for (auto run = runs_.rbegin(); run != runs_.rend(); ++run) {
    const auto at = std::lower_bound((*run)->begin(), (*run)->end(), key, [](const Item& item, std::uint64_t k) { return item.key() < k; });
    if (at != (*run)->end() && at->key() == key) return at->number;
  }
  return std::nullopt;
}

std::string IdIndex::save() const {
  std::vector<Item> all;
  for (const auto& run : runs_) all.insert(all.end(), run->begin(), run->end());
  all.insert(all.end(), recent_.begin(), recent_.end());
  // One run is enough: what came later stands first, so that it wins.
  std::reverse(all.begin(), all.end());
  std::stable_sort(all.begin(), all.end(), [](const Item& a, const Item& b) { return a.key() < b.key(); });
  all.erase(std::unique(all.begin(), all.end(), [](const Item& a, const Item& b) { return a.key() == b.key(); }), all.end());
  return std::string(reinterpret_cast<const char*>(all.data()), all.size() * sizeof(Item));
}

std::optional<IdIndex> IdIndex::load(std::string_view saved) {
  if (saved.size() % sizeof(Item) != 0) return std::nullopt;
  IdIndex out;
  out.size_ = saved.size() / sizeof(Item);
  Run run(out.size_);
  if (!run.empty()) std::memcpy(run.data(), saved.data(), saved.size());
  if (!run.empty()) out.runs_.push_back(std::make_shared<const Run>(std::move(run)));
  return out;
}

}  // namespace weir
