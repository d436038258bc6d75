#include "base/literals.h"

#include <deque>

#include "base/check.h"

namespace weir {

LiteralSet::LiteralSet(const std::vector<std::string_view>& literals) {
  for (const std::string_view literal : literals) {
    for (const char c : literal) {
      auto& byte_class = class_of_[static_cast<unsigned char>(c)];
      if (byte_class == 0) byte_class = static_cast<std::uint8_t>(classes_++);
      if (c >= 'a' && c <= 'z') class_of_[static_cast<unsigned char>(c - 32)] = byte_class;
    }
  }
  const auto row = [&](std::size_t state) { return next_.begin() + static_cast<std::ptrdiff_t>(state * classes_); };
  const auto add_state = [&] {
    next_.insert(next_.end(), classes_, 0);
    ends_.push_back(0);
    return static_cast<std::uint16_t>(ends_.size() - 1);
  };
  outputs_.emplace_back();
  add_state();
  std::vector<std::vector<std::uint16_t>> ending(1);
  for (std::size_t i = 0; i < literals.size(); ++i) {
    std::uint16_t state = 0;
    for (const char c : literals[i]) {
      const auto column = class_of_[static_cast<unsigned char>(c)];
      if (row(state)[column] == 0) {
        const std::uint16_t made = add_state();
        row(state)[column] = made;
        ending.emplace_back();
      }
      state = row(state)[column];
    }
    ending[state].push_back(static_cast<std::uint16_t>(i));
  }
  WEIR_CHECK(ends_.size() < 65536);

  // Breadth first, so that a state's fallback is complete before the state is.
  std::vector<std::uint16_t> fallback(ends_.size(), 0);
  std::deque<std::uint16_t> queue;
  for (std::uint32_t c = 0; c < classes_; ++c) {
    if (row(0)[c] != 0) queue.push_back(row(0)[c]);
  }
  while (!queue.empty()) {
    const std::uint16_t state = queue.front();
    queue.pop_front();
    const auto& shorter = ending[fallback[state]];
    ending[state].insert(ending[state].end(), shorter.begin(), shorter.end());
    if (!ending[state].empty()) {
      ends_[state] = static_cast<std::uint16_t>(outputs_.size());
      outputs_.push_back(ending[state]);
    }
    for (std::uint32_t c = 0; c < classes_; ++c) {
      const std::uint16_t child = row(state)[c], other = row(fallback[state])[c];
      if (child == 0) {
        row(state)[c] = other;
      } else {
        fallback[child] = other;
        queue.push_back(child);
      }
    }
  }
}

}  // namespace weir
