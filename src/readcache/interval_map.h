// Lines of a file, each with at most one value, kept as intervals in a persistent map: setting k intervals costs
// O(k log n), and a copy costs nothing.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "session/line_range.h"
#include "session/pmap.h"

namespace weir {

template <typename T>
class IntervalMap {
 public:
  struct Interval {
    LineRange lines;
    T value;
  };

  bool empty() const { return map_.empty(); }
  std::size_t size() const { return map_.size(); }  // intervals

  void set(LineRange lines, T value) {
    if (lines.empty()) return;
    erase(lines);
    map_.set(lines.first, Node{lines.last, std::move(value)});
  }

  void erase(LineRange lines) {
    if (lines.empty()) return;
    for (const Interval& hit : in(lines, Clip::no)) {
      map_.erase(hit.lines.first);
      if (hit.lines.first < lines.first) map_.set(hit.lines.first, Node{lines.first - 1, hit.value});
      if (hit.lines.last > lines.last) map_.set(lines.last + 1, Node{hit.lines.last, hit.value});
    }
  }

  // What touches these lines, in order, cut to them.
  std::vector<Interval> in(LineRange lines) const { return in(lines, Clip::yes); }

  // The interval a line is in, whole.
  std::optional<Interval> at(LineNo line) const {
    const auto [first, node] = map_.floor(line);
    if (first == nullptr || node->last < line) return std::nullopt;
    return Interval{{*first, node->last}, node->value};
  }

  bool touches(LineRange lines) const { return !in(lines).empty(); }
  bool covers(LineRange lines) const {
    LineNo next = lines.first;
    for (const Interval& hit : in(lines)) {
      if (hit.lines.first != next) return false;
      next = hit.lines.last + 1;
    }
    return next > lines.last;
  }

  template <typename Visit>
  void each(Visit&& visit) const {
    map_.each([&](LineNo first, const Node& node) { visit(LineRange{first, node.last}, node.value); });
  }

  std::size_t bytes() const { return map_.bytes(); }

 private:
  struct Node {
    LineNo last = 0;
    T value;
  };
  enum class Clip { no, yes };

  std::vector<Interval> in(LineRange lines, Clip clip) const {
    std::vector<Interval> hits;
    const auto take = [&](LineNo first, const Node& node) {
      const LineRange whole{first, node.last};
      if (!common(whole, lines).empty()) hits.push_back({clip == Clip::yes ? common(whole, lines) : whole, node.value});
    };
    if (const auto [first, node] = map_.floor(lines.first); first != nullptr && *first < lines.first) take(*first, *node);
    map_.each_from(lines.first, [&](LineNo first, const Node& node) {
      if (first > lines.last) return false;
      take(first, node);
      return true;
    });
    return hits;
  }

  PMap<LineNo, Node> map_;
};

}  // namespace weir
