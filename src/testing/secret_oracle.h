// Masking the slow and plain way: every family's pattern run over the whole text, again and again until nothing is
// found. What Masker does with one pass of literals must come to the same.
#pragma once

#include <re2/re2.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/secret_rules.h"
#include "base/secrets.h"

namespace weir::testing {

class SecretOracle {
 public:
  SecretOracle() {
    for (const SecretFamily& family : secret_families()) {
      for (const std::string& pattern : secret_patterns(family))
        patterns_.emplace_back(&family, std::make_unique<re2::RE2>(pattern, re2::RE2::Quiet));
    }
  }

  // The secrets in the text as [begin, end), by family, each family from left to right.
  std::vector<std::pair<std::size_t, std::size_t>> find(std::string_view text, MaskCounts* counts = nullptr) const {
    std::map<const SecretFamily*, std::vector<std::pair<std::size_t, std::size_t>>> by_family;
    for (const auto& [family, pattern] : patterns_) {
      const bool grouped = pattern->NumberOfCapturingGroups() > 0;
      re2::StringPiece match[2];
      for (std::size_t from = 0; pattern->Match({text.data(), text.size()}, from, text.size(), re2::RE2::UNANCHORED, match, 2);) {
        const re2::StringPiece span = match[grouped ? 1 : 0];
        std::size_t begin = static_cast<std::size_t>(span.data() - text.data());
        const std::size_t end = begin + span.size();
        from = static_cast<std::size_t>(match[0].data() - text.data()) + match[0].size();
        if (std::string_view(span.data(), span.size()) == kRedacted || (family->mixed && !mixed(span))) continue;
        // The letter of an escape takes its backslashes along.
        if (std::string_view("bfnrtu").find(text[begin]) != std::string_view::npos) {
          while (begin > 0 && text[begin - 1] == '\\') --begin;
        }
        by_family[family].emplace_back(begin, end);
      }
    }
    std::vector<std::pair<std::size_t, std::size_t>> found;
    for (auto& [family, spans] : by_family) {
      // What several patterns of a family find is one secret where it overlaps, also when a later span joins two earlier ones.
      std::sort(spans.begin(), spans.end());
      std::size_t end = 0;
      for (const auto& [first, last] : spans) {
        if (counts != nullptr && first >= end) ++(*counts)[std::string(family->name)];
        end = std::max(end, last);
      }
      found.insert(found.end(), spans.begin(), spans.end());
    }
    return found;
  }

  std::string mask(std::string text, MaskCounts* counts = nullptr) const {
    for (auto found = find(text, counts); !found.empty(); found = find(text, counts)) {
      // One letter per byte: secret or not, and where a new span begins.
      std::string picture(text.size(), '.');
      std::sort(found.begin(), found.end());
      std::size_t end = 0;
      for (const auto& [first, last] : found) {
        if (first >= end) picture[first] = 'B';
        for (std::size_t at = std::max(first + (first >= end), end); at < last; ++at) picture[at] = 's';
        end = std::max(end, last);
      }
      std::string masked;
      for (std::size_t at = 0; at < text.size(); ++at) {
        if (picture[at] == 'B') masked += kRedacted;
        if (picture[at] == '.') masked += text[at];
      }
      text = std::move(masked);
    }
    return text;
  }

 private:
  static bool mixed(const re2::StringPiece& span) {
    bool letter = false, digit = false;
    for (const char c : span) {
      letter |= (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      digit |= c >= '0' && c <= '9';
    }
    return letter && digit;
  }

  std::vector<std::pair<const SecretFamily*, std::unique_ptr<re2::RE2>>> patterns_;
};

}  // namespace weir::testing
