#include "research/t_order.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/utf8.h"

namespace weir::research {
namespace {

// Rank of each printable ASCII character; both cases of a letter have one. Everything else comes after them, by value.
constexpr std::string_view kOrder = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789";
constexpr std::uint32_t kLetters = kOrder.size();
constexpr std::uint32_t kOthers = kLetters + 26;

bool is_tail(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }
constexpr bool is_upper(unsigned char c) { return c >= 'A' && c <= 'Z'; }

constexpr std::array<std::uint32_t, 128> make_ranks() {
  std::array<std::uint32_t, 128> ranks{};
  for (std::uint32_t c = 0; c < 128; ++c) ranks[c] = kOthers + c;
  for (std::uint32_t i = 0; i < kOrder.size(); ++i) ranks[static_cast<unsigned char>(kOrder[i])] = i;
  for (std::uint32_t i = 0; i < 26; ++i) ranks['a' + i] = ranks['A' + i] = kLetters + i;
  return ranks;
}
constexpr std::array<std::uint32_t, 128> kRanks = make_ranks();

std::uint32_t next_rank(std::string_view text, std::size_t& at) {
  if (const auto c = static_cast<unsigned char>(text[at]); c < 128) {
    ++at;
    return kRanks[c];
  }
  return kOthers + static_cast<std::uint32_t>(decode_utf8(text, at).value_or(0xFFFD));
}

}  // namespace

int compare_t(std::string_view a, std::string_view b) {
  int case_difference = 0;
  for (std::size_t at = 0;;) {
    // Equal bytes have equal ranks: on to the first that differs, and back to where its character begins.
    const std::size_t both = std::min(a.size(), b.size());
    while (at < both && a[at] == b[at]) ++at;
    if (at == both) break;
    std::size_t begin = at;
    while (begin > 0 && (is_tail(a[begin]) || is_tail(b[begin]))) --begin;
    std::size_t i = begin, j = begin;
    const std::uint32_t left = next_rank(a, i), right = next_rank(b, j);
    if (left != right) return left < right ? -1 : 1;
    // Two cases of one letter; else no UTF-8, where bytes decide.
    const auto x = static_cast<unsigned char>(a[at]), y = static_cast<unsigned char>(b[at]);
    if (x >= 128 || y >= 128) return x < y ? -1 : 1;
    if (case_difference == 0) case_difference = is_upper(y) ? -1 : 1;
    ++at;
  }
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return case_difference;
}

}  // namespace weir::research
