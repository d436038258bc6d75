#include "session/id_index.h"

#include <algorithm>

#include "base/sha256.h"

namespace weir {

void IdIndex::set(std::string_view name, std::uint32_t number) {
  const std::uint64_t key = sha256(name).prefix64();
  recent_.push_back({static_cast<std::uint32_t>(key >> 32), static_cast<std::uint32_t>(key), number});
  ++size_;
  if (recent_.size() < kRecent) return;
  // A number set later stands before one set earlier, and of equal keys the first stays.
  Items items(recent_.rbegin(), recent_.rend());
  recent_.clear();
  const auto less = [](const Item& a, const Item& b) { return a.key() < b.key(); };
  const auto same = [](const Item& a, const Item& b) { return a.key() == b.key(); };
  std::stable_sort(items.begin(), items.end(), less);
  while (!runs_.empty() && runs_.back()->size < 2 * items.size()) {
    const Items older = runs_.back()->all();
    Items merged;
    merged.reserve(items.size() + older.size());
    std::merge(items.begin(), items.end(), older.begin(), older.end(), std::back_inserter(merged), less);
    items = std::move(merged);
    runs_.pop_back();
  }
  items.erase(std::unique(items.begin(), items.end(), same), items.end());
  auto run = std::make_shared<Run>();
  run->size = items.size();
  run->items = std::move(items);
  runs_.push_back(std::move(run));
}

namespace {

template <typename Items>
std::optional<std::uint32_t> find_in(const Items& items, std::uint64_t key) {
  const auto at = std::lower_bound(items.begin(), items.end(), key, [](const auto& item, std::uint64_t k) { return item.key() < k; });
  return at != items.end() && at->key() == key ? std::optional(at->number) : std::nullopt;
}

}  // namespace

std::optional<std::uint32_t> IdIndex::Run::find(std::uint64_t key) const {
  if (parts == nullptr) return find_in(items, key);
  const auto after = std::upper_bound(pages.begin(), pages.end(), key, [](std::uint64_t k, const Page& page) { return k < page.first; });
  if (after == pages.begin()) return std::nullopt;
  const auto page = static_cast<std::size_t>(after - pages.begin() - 1);
  {
    const std::lock_guard lock(mutex);
    if (const auto it = at_hand.find(page); it != at_hand.end()) return find_in(it->second, key);
  }
  Items read_now = read(page);
  const auto found = find_in(read_now, key);
  const std::lock_guard lock(mutex);
  at_hand.emplace(page, std::move(read_now));
  return found;
}

IdIndex::Items IdIndex::Run::read(std::size_t page) const {
  const std::string bytes = parts->read(pages[page].part);
  if (bytes.size() % sizeof(Item) != 0) throw PartLost{Error(ErrorCode::CORRUPT, "a part of a saved index has another shape")};
  Items out(bytes.size() / sizeof(Item));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

IdIndex::Items IdIndex::Run::all() const {
  if (parts == nullptr) return items;
  Items out;
  out.reserve(size);
  for (std::size_t page = 0; page < pages.size(); ++page) {
    const Items some = read(page);
    out.insert(out.end(), some.begin(), some.end());
  }
  return out;
}

std::vector<IdIndex::Page> IdIndex::Run::save_pages(PartSink& sink) const {
  {
    const std::lock_guard lock(mutex);
    bool there = !pages.empty();
    for (const Page& page : pages) there = sink.has(page.part) && there;
    if (there) return pages;
  }
  const Items list = all();
  std::vector<Page> out;
  for (std::size_t at = 0; at < list.size(); at += kPage) {
    const std::size_t count = std::min(kPage, list.size() - at);
    const std::string_view bytes(reinterpret_cast<const char*>(list.data() + at), count * sizeof(Item));
    out.push_back({list[at].key(), part_key(bytes)});
    if (!sink.has(out.back().part)) sink.put(out.back().part, bytes);
  }
  const std::lock_guard lock(mutex);
  if (pages.empty()) pages = out;
  return out;
}

std::optional<std::uint32_t> IdIndex::find(std::string_view name) const {
  const std::uint64_t key = sha256(name).prefix64();
  for (auto it = recent_.rbegin(); it != recent_.rend(); ++it) {
    if (it->key() == key) return it->number;
  }
  for (auto run = runs_.rbegin(); run != runs_.rend(); ++run) {
    if (const auto found = (*run)->find(key)) return found;
  }
  return std::nullopt;
}

void IdIndex::save(std::string& out, PartSink* sink) const {
  const auto put_items = [&](const Items& items) {
    put_plain(out, items.size());
    out.append(reinterpret_cast<const char*>(items.data()), items.size() * sizeof(Item));
  };
  put_plain(out, size_);
  put_plain(out, runs_.size());
  for (const auto& run : runs_) {
    const bool paged = sink != nullptr && run->size >= kPage;
    put_plain(out, paged);
    if (!paged) {
      put_items(run->all());
      continue;
    }
    const std::vector<Page> pages = run->save_pages(*sink);
    put_plain(out, run->size);
    put_plain(out, pages.size());
    for (const Page& page : pages) put_plain(out, page);
  }
  put_items(recent_);
}

bool IdIndex::load(std::string_view& in, const std::shared_ptr<Parts>& parts) {
  const auto take_list = [&](auto& list) {
    std::size_t count = 0;
    if (!take_plain(in, count) || count > in.size() / sizeof(list[0])) return false;
    list.resize(count);
    for (auto& item : list) take_plain(in, item);
    return true;
  };
  std::size_t runs = 0;
  if (!take_plain(in, size_) || !take_plain(in, runs) || runs > in.size()) return false;
  for (; runs > 0; --runs) {
    auto run = std::make_shared<Run>();
    unsigned char paged = 0;
    if (!take_plain(in, paged) || paged > 1 || (paged == 1 && parts == nullptr)) return false;
    if (paged == 0) {
      if (!take_list(run->items)) return false;
      run->size = run->items.size();
    } else {
      if (!take_plain(in, run->size) || !take_list(run->pages) || run->pages.empty()) return false;
      for (const Page& page : run->pages) {
        if (!parts->may_have(page.part)) return false;
      }
      run->parts = parts;
    }
    runs_.push_back(std::move(run));
  }
  return take_list(recent_);
}

}  // namespace weir
