// The first node in which two paths differ, and in what: found by halving on their chain values, so that what they share is
// not read again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ctree/nodes_fold.h"
#include "ctree/select.h"
#include "json/value.h"

namespace weir::ctree {

struct PathOf {
  const NodesFold& fold;
  const NodesFold::State& state;
};

struct Divergence {
  std::size_t common = 0;  // nodes at the beginning that both have
  bool equal = false;
  std::size_t comparisons = 0;  // of chain values
};
Divergence diverge(const PathOf& a, const PathOf& b);

// Words of what is different in the first node that is: kind, turn, payload, missing_in_a, missing_in_b.
std::vector<std::string_view> causes(const PathOf& a, const PathOf& b, const Divergence& where);

// Members in which two payloads differ, by JSON pointer, with hash and length of each side; {} where it is not there.
json::Value field_differences(const json::Value& a, const json::Value& b, const json::Hasher& hasher, bool with_text, json::Arena& arena);

// [{"path","a","b"}] for every member in which two values differ.
json::Value value_differences(const json::Value& a, const json::Value& b, json::Arena& arena);

// {"only_a","only_b","reason_changed"}: node ids kept on one side, or on both for another reason.
json::Value selection_differences(const PathOf& a, const Selection& in_a, const PathOf& b, const Selection& in_b, json::Arena& arena);

}  // namespace weir::ctree
