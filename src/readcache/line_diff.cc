#include "readcache/line_diff.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <optional>
#include <string_view>

#include "base/check.h"

namespace weir {
namespace {

constexpr std::uint64_t kPollEvery = 1 << 14;  // comparisons between two calls of stop()

// Small numbers for lines, equal exactly if the lines are; counted by first appearance, so they do not depend on the hash.
class LineIds {
 public:
  explicit LineIds(std::size_t max_lines) : slots_(std::bit_ceil(2 * max_lines + 1)) {}

  std::uint32_t id(std::string_view line) {
    const std::size_t hash = std::hash<std::string_view>{}(line);
    for (std::size_t i = hash & (slots_.size() - 1);; i = (i + 1) & (slots_.size() - 1)) {
      Slot& slot = slots_[i];
      if (slot.line.empty()) {
        slot = {hash, line, count_};
        return count_++;
      }
      if (slot.hash == hash && slot.line == line) return slot.id;
    }
  }
  std::uint32_t count() const { return count_; }

 private:
  struct Slot {
    std::size_t hash = 0;
    std::string_view line;  // with its end, so only a free slot's is empty
    std::uint32_t id = 0;
  };
  std::vector<Slot> slots_;
  std::uint32_t count_ = 0;
};

// One side between the common beginning and the common end.
struct Middle {
  LineNo first, end;               // end is one past the last
  std::vector<std::uint32_t> ids;  // of the lines that stand on both sides; any script must change the others
  std::vector<LineNo> lines;       // their numbers, counted from first
  std::vector<char> changed;       // for every line

  explicit Middle(const LineSlice& side) : first(side.range.first), end(side.patch_end()) {}
  LineNo count() const { return end - first; }
};

void trim(const LineSlice& a, const LineSlice& b, Middle& ma, Middle& mb) {
  while (ma.first < ma.end && mb.first < mb.end && a.table.with_end(ma.first) == b.table.with_end(mb.first)) ++ma.first, ++mb.first;
  while (ma.first < ma.end && mb.first < mb.end && a.table.with_end(ma.end - 1) == b.table.with_end(mb.end - 1)) --ma.end, --mb.end;
}

void number_lines(const LineSlice& a, const LineSlice& b, Middle& ma, Middle& mb) {
  LineIds ids(ma.count() + mb.count());
  const auto number = [&ids](const LineSlice& side, Middle& middle) {
    middle.ids.reserve(middle.count());
    for (LineNo line = middle.first; line < middle.end; ++line) middle.ids.push_back(ids.id(side.table.with_end(line)));
  };
  number(a, ma);
  const std::uint32_t in_a = ids.count();
  number(b, mb);
  std::vector<char> in_b(ids.count());
  for (const std::uint32_t id : mb.ids) in_b[id] = 1;
  const auto keep_shared = [&](Middle& middle) {
    middle.changed.resize(middle.count());
    std::size_t kept = 0;
    for (LineNo i = 0; i < middle.count(); ++i) {
      const std::uint32_t id = middle.ids[i];
      const bool shared = id < in_a && in_b[id] != 0;
      middle.changed[i] = shared ? 0 : 1;
      if (!shared) continue;
      middle.ids[kept++] = id;
      middle.lines.push_back(i);
    }
    middle.ids.resize(kept);
  };
  keep_shared(ma);
  keep_shared(mb);
}

// Part of the table of all pairs of lines; x counts along a, y along b, k = x - y numbers the diagonals.
struct Box {
  int x, x_end, y, y_end;
  int lowest() const { return x - y_end; }
  int highest() const { return x_end - y; }
};

// For every second diagonal from low to high, how far along a one gets with a number of edits.
class Wave {
 public:
  Wave(int lines_a, int lines_b) : x_(static_cast<std::size_t>(lines_a + lines_b + 3)), zero_(lines_b + 1) {}

  int& operator[](int k) { return x_.begin()[k + zero_]; }
  bool reaches(int k) const { return low <= k && k <= high; }

  void start(int k, int x) {
    low = high = k;
    (*this)[k] = x;
  }
  // One edit more reaches one diagonal more to either side; beyond the box's corner there is none, and the parity changes.
  void widen(const Box& box, int nowhere) {
    if (low > box.lowest()) {
      (*this)[--low - 1] = nowhere;
    } else {
      ++low;
    }
    if (high < box.highest()) {
      (*this)[++high + 1] = nowhere;
    } else {
      --high;
    }
  }

  int low = 0, high = 0;

 private:
  std::vector<int> x_;
  int zero_;
};

class Search {
 public:
  Search(Middle& a, Middle& b, std::uint64_t max_cost, FunctionRef<bool()> stop)
      : a_(a), b_(b), max_cost_(max_cost), stop_(stop), forward_(size(a), size(b)), backward_(size(a), size(b)) {}

  // Marks the fewest lines as changed. A box is halved by the number of its edits, so the stack stays short.
  DiffOutcome run() {
    std::vector<Box> boxes{{0, size(a_), 0, size(b_)}};
    while (!boxes.empty()) {
      Box box = boxes.back();
      boxes.pop_back();
      trim(box);
      if (box.x == box.x_end || box.y == box.y_end) {
        for (int x = box.x; x < box.x_end; ++x) a_.changed[a_.lines[static_cast<std::size_t>(x)]] = 1;
        for (int y = box.y; y < box.y_end; ++y) b_.changed[b_.lines[static_cast<std::size_t>(y)]] = 1;
        continue;
      }
      const std::optional<Point> middle = split(box);
      if (!middle) return outcome_;
      boxes.push_back({middle->x, box.x_end, middle->y, box.y_end});
      boxes.push_back({box.x, middle->x, box.y, middle->y});
    }
    return DiffOutcome::ok;
  }

 private:
  struct Point {
    int x, y;
  };

  static int size(const Middle& middle) { return static_cast<int>(middle.ids.size()); }
  bool same(int x, int y) const { return a_.ids[static_cast<std::size_t>(x)] == b_.ids[static_cast<std::size_t>(y)]; }

  void trim(Box& box) const {
    while (box.x < box.x_end && box.y < box.y_end && same(box.x, box.y)) ++box.x, ++box.y;
    while (box.x < box.x_end && box.y < box.y_end && same(box.x_end - 1, box.y_end - 1)) --box.x_end, --box.y_end;
  }

  // A point in the middle of a shortest script: where a wave from the start meets one from the end. Nothing: see outcome_.
  std::optional<Point> split(const Box& box) {
    const int from_start = box.x - box.y, from_end = box.x_end - box.y_end;
    const bool odd = ((from_start - from_end) & 1) != 0;  // then so is the number of edits, and the forward wave is the one to meet
    forward_.start(from_start, box.x);
    backward_.start(from_end, box.x_end);
    while (within_budget()) {
      if (const auto met = advance_forward(box, odd)) return met;
      if (const auto met = advance_backward(box, !odd)) return met;
    }
    return std::nullopt;
  }

  std::optional<Point> advance_forward(const Box& box, bool may_meet) {
    forward_.widen(box, -1);
    for (int k = forward_.high; k >= forward_.low; k -= 2) {
      const int start = std::max(forward_[k - 1] + 1, forward_[k + 1]);
      int x = start;
      while (x < box.x_end && x - k < box.y_end && same(x, x - k)) ++x;
      cost_ += static_cast<std::uint64_t>(x - start + 1);
      forward_[k] = x;
      if (may_meet && backward_.reaches(k) && backward_[k] <= x) return Point{x, x - k};
    }
    return std::nullopt;
  }

  std::optional<Point> advance_backward(const Box& box, bool may_meet) {
    backward_.widen(box, std::numeric_limits<int>::max());
    for (int k = backward_.high; k >= backward_.low; k -= 2) {
      const int start = std::min(backward_[k - 1], backward_[k + 1] - 1);
      int x = start;
      while (x > box.x && x - k > box.y && same(x - 1, x - k - 1)) --x;
      cost_ += static_cast<std::uint64_t>(start - x + 1);
      backward_[k] = x;
      if (may_meet && forward_.reaches(k) && x <= forward_[k]) return Point{x, x - k};
    }
    return std::nullopt;
  }

  bool within_budget() {
    if (cost_ > max_cost_) {
      outcome_ = DiffOutcome::too_costly;
    } else if (cost_ >= next_poll_) {
      next_poll_ = cost_ + kPollEvery;
      if (stop_()) outcome_ = DiffOutcome::stopped;
    }
    return outcome_ == DiffOutcome::ok;
  }

  Middle& a_;
  Middle& b_;
  const std::uint64_t max_cost_;
  const FunctionRef<bool()> stop_;
  std::uint64_t cost_ = 0, next_poll_ = 0;
  DiffOutcome outcome_ = DiffOutcome::ok;
  Wave forward_, backward_;
};

std::vector<Edit> edits_between(const Middle& a, const Middle& b) {
  std::vector<Edit> edits;
  LineNo i = 0, j = 0;
  while (i < a.count() || j < b.count()) {
    const LineNo i_first = i, j_first = j;
    while (i < a.count() && a.changed[i] != 0) ++i;
    while (j < b.count() && b.changed[j] != 0) ++j;
    if (i > i_first || j > j_first) {
      edits.push_back({a.first + i_first, i - i_first, b.first + j_first, j - j_first});
    } else {
      ++i, ++j;
    }
  }
  return edits;
}

}  // namespace

LineDiff diff_lines(const LineSlice& a, const LineSlice& b, std::uint64_t max_cost, FunctionRef<bool()> stop) {
  WEIR_CHECK(a.range.first == b.range.first);
  if (stop()) return {DiffOutcome::stopped, {}};
  Middle ma(a), mb(b);
  trim(a, b, ma, mb);
  number_lines(a, b, ma, mb);
  if (const DiffOutcome outcome = Search(ma, mb, max_cost, stop).run(); outcome != DiffOutcome::ok) return {outcome, {}};
  return {DiffOutcome::ok, edits_between(ma, mb)};
}

std::vector<KeptLines> kept_lines(const LineSlice& a, const LineSlice& b, const std::vector<Edit>& edits) {
  std::vector<KeptLines> kept;
  LineNo a_next = a.range.first, b_next = b.range.first;
  const auto keep_until = [&](LineNo b_end) {
    if (b_end > b_next) kept.push_back({a_next, b_next, b_end - b_next});
  };
  for (const Edit& edit : edits) {
    keep_until(edit.b_first);
    a_next = edit.a_first + edit.a_count;
    b_next = edit.b_first + edit.b_count;
  }
  keep_until(b.patch_end() + (a.has_empty_end() && b.has_empty_end() ? 1 : 0));
  return kept;
}

}  // namespace weir
