#include "base/literals.h"

#include "base/check.h"

namespace weir {
namespace {

// How common a byte is in prose and code, roughly; only the order matters.
int commonness(char c) {
  static constexpr std::string_view kByUse = " etaoinsrlhdcumpfg.,bywv=k-()\"_'/:;x0{}1>jz2q<*\\";
  const std::size_t place = kByUse.find(c);
  return place == std::string_view::npos ? 0 : static_cast<int>(kByUse.size() - place);
}

std::size_t rarest_pair(std::string_view literal) {
  std::size_t best = 0;
  int least = 1 << 30;
  for (std::size_t i = 0; i + 1 < literal.size(); ++i) {
    const int a = commonness(literal[i]), b = commonness(literal[i + 1]);
    if (a * b + a + b < least) {
      least = a * b + a + b;
      best = i;
    }
  }
  return best;
}

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

}  // namespace

LiteralSet::LiteralSet(const std::vector<std::string_view>& literals)
    : literals_(literals.begin(), literals.end()), list_of_(1 << 16), lists_(1) {
  for (std::size_t i = 0; i < literals_.size(); ++i) {
    const std::string& literal = literals_[i];
    WEIR_CHECK(literal.size() >= 2);
    const std::size_t at = rarest_pair(literal);
    const char a = literal[at], b = literal[at + 1];
    const std::string forms[] = {{a, b}, {upper(a), b}, {a, upper(b)}, {upper(a), upper(b)}};
    for (std::size_t f = 0; f < 4; ++f) {
      bool again = false;
      for (std::size_t g = 0; g < f; ++g) again = again || forms[g] == forms[f];
      if (again) continue;
      std::uint8_t& list = list_of_[pair_at(forms[f], 0)];
      if (list == 0) {
        WEIR_CHECK(lists_.size() < 256);
        list = static_cast<std::uint8_t>(lists_.size());
        lists_.emplace_back();
      }
      lists_[list].push_back({static_cast<std::uint16_t>(i), static_cast<std::uint16_t>(at)});
    }
  }
}

bool LiteralSet::matches(std::string_view text, std::size_t i, Candidate candidate) const {
  const std::string& literal = literals_[candidate.literal];
  if (i < candidate.offset || i - candidate.offset + literal.size() > text.size()) return false;
  const std::string_view there = text.substr(i - candidate.offset, literal.size());
  for (std::size_t k = 0; k < literal.size(); ++k) {
    if (lower(there[k]) != literal[k]) return false;
  }
  return true;
}

}  // namespace weir
