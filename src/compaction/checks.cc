#include "compaction/checks.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace weir::compaction {

Outcome Findings::failed(std::string_view what) const { return compaction::failed(fmt::format("{} {}; first: {}", count_, what, first_)); }

std::string Cited::label() const {
  if (where == Where::side_a || where == Where::side_b)
    return fmt::format("conflict {}/{}", told(owner), where == Where::side_a ? 'a' : 'b');
  return "claim " + told(owner);
}

const json::Value& member(const json::Value& value, std::string_view key) {
  static const json::Value kNothing;
  const json::Value* found = value.find(key);
  return found == nullptr ? kNothing : *found;
}

const json::Value& member(const json::Value& value, std::string_view key, std::string_view inner) {
  return member(member(value, key), inner);
}

std::string told(std::string_view text) { return excerpt(text, kMostId); }

std::string Path::str() const {
  if (up == nullptr) return "snapshot";
  std::string out = up->up == nullptr ? "" : up->str();
  if (item) return out + fmt::format("[{}]", index);
  if (!out.empty()) out += '.';
  return out + told(key);
}

std::uint64_t Examined::first_pos() const {
  const Accepted* before = state().last_accepted();
  return before == nullptr ? 1 : before->last_pos + 1;
}

Outcome Examined::unfolded() const {
  return failed("not checked: " + (facts.log_problems.empty() ? "the log cannot be folded" : facts.log_problems[0]));
}

}  // namespace weir::compaction
