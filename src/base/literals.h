// Finds which of a set of literals occur in a text, in any ASCII case, in one fast pass: every literal is represented by
// its rarest pair of bytes, a table says for each pair of the text whether it is one of those, and only then is the
// literal compared. An Aho-Corasick automaton was three times slower: each of its steps waits for the one before.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

class LiteralSet {
 public:
  LiteralSet() : LiteralSet(std::vector<std::string_view>{}) {}
  explicit LiteralSet(const std::vector<std::string_view>& literals);  // lower case, at least two bytes each

  // Calls found(index of the literal, offset just after it) for every occurrence, in no promised order.
  template <typename Found>
  void scan(std::string_view text, Found&& found) const {
    if (text.size() < 2) return;
    const std::size_t pairs = text.size() - 1;
    std::size_t i = 0;
    for (; i + 8 <= pairs; i += 8) {
      std::uint8_t any = 0;
      for (std::size_t k = 0; k < 8; ++k) any |= list_of_[pair_at(text, i + k)];
      if (any == 0) [[likely]]
        continue;
      for (std::size_t k = 0; k < 8; ++k) check(text, i + k, found);
    }
    for (; i < pairs; ++i) check(text, i, found);
  }

 private:
  struct Candidate {
    std::uint16_t literal;
    std::uint16_t offset;  // of the pair in the literal
  };

  static std::uint16_t pair_at(std::string_view text, std::size_t i) {
    std::uint16_t pair;
    std::memcpy(&pair, text.data() + i, 2);
    return pair;
  }

  template <typename Found>
  void check(std::string_view text, std::size_t i, Found& found) const {
    for (const Candidate candidate : lists_[list_of_[pair_at(text, i)]]) {
      if (matches(text, i, candidate)) found(candidate.literal, i - candidate.offset + literals_[candidate.literal].size());
    }
  }
  bool matches(std::string_view text, std::size_t i, Candidate candidate) const;

  std::vector<std::string> literals_;
  std::vector<std::uint8_t> list_of_;  // pair of bytes -> index into lists_; 0 is the empty list
  std::vector<std::vector<Candidate>> lists_;
};

}  // namespace weir
