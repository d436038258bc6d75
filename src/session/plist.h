// A persistent list that grows at its end: copying one is O(1) and shares everything, adding costs one node. Read from the
// front in order; nothing in it changes.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace weir {

template <typename T>
class PList {
 public:
  PList() = default;
  PList(const PList&) = default;
  PList(PList&&) noexcept = default;
  PList& operator=(const PList&) = default;
  PList& operator=(PList&&) noexcept = default;

  void push_back(T value) {
    const std::size_t longer = size() + 1;
    last_ = std::make_shared<Node>(std::move(value), std::move(last_), longer);
  }
  std::size_t size() const { return last_ == nullptr ? 0 : last_->size; }
  bool empty() const { return last_ == nullptr; }

  template <typename Visit>
  void each(Visit&& visit) const {
    std::vector<const T*> all(size());
    for (const Node* node = last_.get(); node != nullptr; node = node->before.get()) all[node->size - 1] = &node->value;
    for (const T* value : all) visit(*value);
  }

 private:
  struct Node {
    Node(T v, std::shared_ptr<Node> b, std::size_t s) : value(std::move(v)), before(std::move(b)), size(s) {}
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;
    // One after another: a long list must not end in as deep a recursion.
    ~Node() {
      std::shared_ptr<Node> next = std::move(before);
      while (next != nullptr && next.use_count() == 1) next = std::exchange(next->before, nullptr);
    }
    T value;
    std::shared_ptr<Node> before;
    std::size_t size;
  };

  std::shared_ptr<Node> last_;
};

}  // namespace weir
