// Which number a name was given last. A persistent map for many names and few questions: 12 bytes a name, in sorted runs of
// doubling length that copies share. Names are kept as 64 bits of their SHA-256.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

class IdIndex {
 public:
  void set(std::string_view name, std::uint32_t number);
  std::optional<std::uint32_t> find(std::string_view name) const;

  std::size_t size() const { return size_; }  // names set so far, repeats counted
  std::size_t bytes() const { return size_ * sizeof(Item) + sizeof *this; }

  std::string save() const;
  static std::optional<IdIndex> load(std::string_view saved);

 private:
  struct Item {
    std::uint32_t high, low, number;
    std::uint64_t key() const { return std::uint64_t{high} << 32 | low; }
  };
  using Run = std::vector<Item>;  // by key, each once

  static constexpr std::size_t kRecent = 64;

  std::vector<Item> recent_;                      // in the order they came
  std::vector<std::shared_ptr<const Run>> runs_;  // oldest, which are longest, first
  std::size_t size_ = 0;
};

}  // namespace weir
