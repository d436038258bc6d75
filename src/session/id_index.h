// Which number a name was given last. A persistent map for many names and few questions: 12 bytes a name, in sorted runs of
// doubling length that copies share. Names are kept as 64 bits of their SHA-256. Of an index that was loaded the long runs
// are in parts (parts.h), of which a question reads one for each run.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "session/parts.h"

namespace weir {

class IdIndex {
 public:
  void set(std::string_view name, std::uint32_t number);
  std::optional<std::uint32_t> find(std::string_view name) const;

  std::size_t size() const { return size_; }  // names set so far, repeats counted
  std::size_t bytes() const { return size_ * sizeof(Item) + sizeof *this; }

  // As bytes, the long runs in the sink, if there is one; and into an empty index. False if the bytes are no index, or one
  // whose parts are not there.
  void save(std::string& out, PartSink* sink) const;
  bool load(std::string_view& in, const std::shared_ptr<Parts>& parts);

 private:
  struct Item {
    std::uint32_t high, low, number;
    std::uint64_t key() const { return std::uint64_t{high} << 32 | low; }
  };
  using Items = std::vector<Item>;
  struct Page {
    std::uint64_t first;  // key
    PartKey part;
  };
  // By key, each once: at hand, or in pages that are read when they are asked for.
  struct Run {
    std::size_t size = 0;
    Items items;
    std::shared_ptr<Parts> parts;
    mutable std::mutex mutex;
    mutable std::vector<Page> pages;               // of one that was saved or loaded
    mutable std::map<std::size_t, Items> at_hand;  // pages that were read

    std::optional<std::uint32_t> find(std::uint64_t key) const;
    Items read(std::size_t page) const;
    Items all() const;
    std::vector<Page> save_pages(PartSink& sink) const;
  };

  static constexpr std::size_t kRecent = 64;
  static constexpr std::size_t kPage = 1024;

  Items recent_;                                  // in the order they came
  std::vector<std::shared_ptr<const Run>> runs_;  // oldest, which are longest, first
  std::size_t size_ = 0;
};

}  // namespace weir
