// A persistent list with places: grows at its end, read anywhere. Copying one is O(1) and shares everything. The last chunk
// is shared too: whoever holds the longest list adds to it in place, and a fork that would add where another already has
// takes a copy of that one chunk.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "session/pmap.h"

namespace weir {

template <typename T, std::size_t kChunk = 128>
class PVec {
  struct Chunk;

 public:
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  void push_back(T value) {
    const std::size_t at = size_ % kChunk;
    if (at == 0) {
      tail_ = chunks_[static_cast<std::uint32_t>(size_ / kChunk)] = std::make_shared<Chunk>();
    } else if (std::size_t free = at; !tail_->used.compare_exchange_strong(free, at + 1)) {
      auto copy = std::make_shared<Chunk>();
      for (std::size_t i = 0; i < at; ++i) copy->items[i] = tail_->items[i];
      tail_ = chunks_[static_cast<std::uint32_t>(size_ / kChunk)] = std::move(copy);
    }
    // A new chunk is nobody else's yet; of an old one this place was just taken.
    if (tail_->used.load(std::memory_order_relaxed) <= at) tail_->used.store(at + 1, std::memory_order_relaxed);
    tail_->items[at] = std::move(value);
    ++size_;
  }

  const T& operator[](std::size_t i) const { return chunk(i).items[i % kChunk]; }
  const T& back() const { return (*this)[size_ - 1]; }

  // visit(place, value) for the places from..to-1.
  template <typename Visit>
  void each(std::size_t from, std::size_t to, Visit&& visit) const {
    while (from < to) {
      const Chunk& in = chunk(from);
      const std::size_t end = std::min(to, (from / kChunk + 1) * kChunk);
      for (; from < end; ++from) visit(from, in.items[from % kChunk]);
    }
  }

  // For reading places in rising order: finds a chunk once. The list must not change meanwhile.
  class Cursor {
   public:
    explicit Cursor(const PVec& list) : list_(list) {}
    const T& operator[](std::size_t i) {
      if (i / kChunk != at_) {
        at_ = i / kChunk;
        chunk_ = &list_.chunk(i);
      }
      return chunk_->items[i % kChunk];
    }

   private:
    const PVec& list_;
    std::size_t at_ = static_cast<std::size_t>(-1);
    const typename PVec::Chunk* chunk_ = nullptr;
  };

 private:
  struct Chunk {
    std::atomic<std::size_t> used{0};
    std::array<T, kChunk> items{};
  };

  const Chunk& chunk(std::size_t i) const {
    if (i / kChunk == (size_ - 1) / kChunk) return *tail_;
    return **chunks_.find(static_cast<std::uint32_t>(i / kChunk));
  }

  PMap<std::uint32_t, std::shared_ptr<Chunk>> chunks_;
  std::shared_ptr<Chunk> tail_;
  std::size_t size_ = 0;
};

}  // namespace weir
