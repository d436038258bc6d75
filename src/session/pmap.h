// A persistent ordered map: copying one is O(1) and shares everything; changing a copy copies only the O(log n) nodes
// on the way, and none that nobody else holds. So a fold that steps forward works in place, and a state kept at a
// checkpoint stays what it was. An AVL tree with counted nodes; a HAMT was left aside because folds list in key order.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

namespace weir {

template <typename Key, typename Value>
class PMap {
  struct Node;

  // Counted pointer to a node.
  class Link {
   public:
    Link() = default;
    explicit Link(Node* node) : node_(node) {}
    Link(const Link& other) : node_(other.node_) {
      if (node_ != nullptr) node_->holders.fetch_add(1, std::memory_order_relaxed);
    }
    Link(Link&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
    Link& operator=(Link other) noexcept {
      std::swap(node_, other.node_);
      return *this;
    }
    ~Link() {
      if (node_ != nullptr && node_->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) delete node_;
    }
    Node* get() const { return node_; }
    Node* operator->() const { return node_; }
    explicit operator bool() const { return node_ != nullptr; }

    // The node, for changing: this one if nobody else holds it, else a copy put in its place.
    Node* own() {
      if (node_->holders.load(std::memory_order_acquire) != 1) *this = Link(new Node(*node_));
      return node_;
    }

   private:
    Node* node_ = nullptr;
  };

  struct Node {
    Node(Key k, Value v) : key(std::move(k)), value(std::move(v)) {}
    Node(const Node& other)
        : key(other.key), value(other.value), left(other.left), right(other.right), height(other.height), size(other.size) {}
    Key key;
    Value value;
    Link left, right;
    int height = 1;
    std::size_t size = 1;
    std::atomic<std::uint32_t> holders{1};
  };

 public:
  std::size_t size() const { return size_of(root_); }
  bool empty() const { return !root_; }

  template <typename K>
  const Value* find(const K& key) const {
    const Node* node = root_.get();
    while (node != nullptr) {
      if (key < node->key) {
        node = node->left.get();
      } else if (node->key < key) {
        node = node->right.get();
      } else {
        return &node->value;
      }
    }
    return nullptr;
  }

  // The value for changing, made by Value() if it is not there.
  template <typename K>
  Value& operator[](const K& key) {
    return at_or_insert(root_, key);
  }
  template <typename K>
  void set(const K& key, Value value) {
    (*this)[key] = std::move(value);
  }

  template <typename K>
  bool erase(const K& key) {
    if (find(key) == nullptr) return false;
    erase_from(root_, key);
    return true;
  }

  // In key order.
  template <typename Visit>
  void each(Visit&& visit) const {
    walk(root_.get(), visit);
  }

  // From the first key that is not less, in key order, until `visit` answers false.
  template <typename K, typename Visit>
  void each_from(const K& key, Visit&& visit) const {
    walk_from(root_.get(), key, visit);
  }

  // The last key that is not greater, with its value; nulls if there is none.
  template <typename K>
  std::pair<const Key*, const Value*> floor(const K& key) const {
    std::pair<const Key*, const Value*> best{nullptr, nullptr};
    const Node* node = root_.get();
    while (node != nullptr) {
      if (key < node->key) {
        node = node->left.get();
      } else {
        best = {&node->key, &node->value};
        node = node->right.get();
      }
    }
    return best;
  }

  // About how many bytes the map holds if nothing is shared.
  std::size_t bytes() const { return size() * sizeof(Node); }

 private:
  static std::size_t size_of(const Link& link) { return link ? link->size : 0; }
  static int height_of(const Link& link) { return link ? link->height : 0; }

  static void refresh(Node* node) {
    node->height = 1 + std::max(height_of(node->left), height_of(node->right));
    node->size = 1 + size_of(node->left) + size_of(node->right);
  }

  // Side is &Node::left or &Node::right: the child on that side comes up.
  static void rotate(Link& link, Link Node::* side, Link Node::* other) {
    Node* top = link.own();
    Link up = std::move(top->*side);
    Node* pivot = up.own();
    top->*side = std::move(pivot->*other);
    refresh(top);
    pivot->*other = std::move(link);
    refresh(pivot);
    link = std::move(up);
  }

  static void balance(Link& link) {
    Node* node = link.own();
    refresh(node);
    const int tilt = height_of(node->left) - height_of(node->right);
    if (tilt > 1) {
      if (height_of(node->left->left) < height_of(node->left->right)) rotate(node->left, &Node::right, &Node::left);
      rotate(link, &Node::left, &Node::right);
    } else if (tilt < -1) {
      if (height_of(node->right->right) < height_of(node->right->left)) rotate(node->right, &Node::left, &Node::right);
      rotate(link, &Node::right, &Node::left);
    }
  }

  template <typename K>
  static Value& at_or_insert(Link& link, const K& key) {
    if (!link) {
      link = Link(new Node(Key(key), Value()));
      return link->value;
    }
    Node* node = link.own();
    if (key < node->key) {
      Value& value = at_or_insert(node->left, key);
      balance(link);
      return value;
    }
    if (node->key < key) {
      Value& value = at_or_insert(node->right, key);
      balance(link);
      return value;
    }
    return node->value;
  }

  template <typename K>
  static void erase_from(Link& link, const K& key) {
    Node* node = link.own();
    if (key < node->key) {
      erase_from(node->left, key);
    } else if (node->key < key) {
      erase_from(node->right, key);
    } else if (!node->left || !node->right) {
      Link child = std::move(node->left ? node->left : node->right);
      link = std::move(child);
      return;
    } else {
      const Node* next = node->right.get();
      while (next->left) next = next->left.get();
      node->key = next->key;
      node->value = next->value;
      const Key moved = next->key;
      erase_from(node->right, moved);
    }
    balance(link);
  }

  template <typename Visit>
  static void walk(const Node* node, Visit& visit) {
    if (node == nullptr) return;
    walk(node->left.get(), visit);
    visit(node->key, node->value);
    walk(node->right.get(), visit);
  }

  template <typename K, typename Visit>
  static bool walk_from(const Node* node, const K& key, Visit& visit) {
    if (node == nullptr) return true;
    if (node->key < key) return walk_from(node->right.get(), key, visit);
    return walk_from(node->left.get(), key, visit) && visit(node->key, node->value) && walk_from(node->right.get(), key, visit);
  }

  Link root_;
};

}  // namespace weir
