// Finds which of a set of literals occur in a text, in any ASCII case, in one pass (Aho-Corasick). RE2's own prefilter
// was left aside: it still wants one search per literal.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace weir {

class LiteralSet {
 public:
  LiteralSet() : LiteralSet(std::vector<std::string_view>{}) {}
  explicit LiteralSet(const std::vector<std::string_view>& literals);  // lower case

  // Calls found(index of the literal, offset just after it) for every occurrence, from left to right.
  template <typename Found>
  void scan(std::string_view text, Found&& found) const {
    std::uint32_t state = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      state = next_[state * classes_ + class_of_[static_cast<unsigned char>(text[i])]];
      if (ends_[state] != 0) [[unlikely]] {
        for (const std::uint16_t literal : outputs_[ends_[state]]) found(literal, i + 1);
      }
    }
  }

 private:
  // Bytes in no literal share class 0, so a row of the table has as few columns as there are letters in use.
  std::array<std::uint8_t, 256> class_of_{};
  std::uint32_t classes_ = 1;
  std::vector<std::uint16_t> next_;
  std::vector<std::uint16_t> ends_;  // state -> index into outputs_, 0 for none
  std::vector<std::vector<std::uint16_t>> outputs_;
};

}  // namespace weir
