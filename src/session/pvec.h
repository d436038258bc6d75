// A persistent list with places: grows at its end, read anywhere. Copying one is O(1) and shares everything. The last chunk
// is shared too: whoever holds the longest list adds to it in place, and a fork that would add where another already has
// takes a copy of that one chunk. Of a list that was loaded the full chunks are parts (parts.h), read when they are asked for.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "session/parts.h"
#include "session/pmap.h"

namespace weir {

template <typename T, std::size_t kChunk = 128>
class PVec {
  struct Chunk;

 public:
  // Takes one item from the beginning of the bytes; false if they hold none.
  using Decode = std::function<bool(std::string_view&, T&)>;

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

  const T& operator[](std::size_t i) const {
    const std::size_t number = i / kChunk;
    if (is_saved(number)) return saved_->kept(number).items[i % kChunk];
    return in_memory(number).items[i % kChunk];
  }
  const T& back() const { return (*this)[size_ - 1]; }

  // visit(place, value) for the places from..to-1.
  template <typename Visit>
  void each(std::size_t from, std::size_t to, Visit&& visit) const {
    while (from < to) {
      const std::size_t number = from / kChunk;
      const Chunk& in = is_saved(number) ? saved_->kept(number) : in_memory(number);
      const std::size_t end = std::min(to, (from / kChunk + 1) * kChunk);
      for (; from < end; ++from) visit(from, in.items[from % kChunk]);
    }
  }

  // For reading places in rising order: finds a chunk once, and does not keep what it had to read. The list must not change
  // meanwhile, and what was read from one chunk is gone with the next.
  class Cursor {
   public:
    explicit Cursor(const PVec& list) : list_(list) {}
    const T& operator[](std::size_t i) {
      if (i / kChunk != at_) {
        at_ = i / kChunk;
        chunk_ = &list_.chunk(at_, held_);
      }
      return chunk_->items[i % kChunk];
    }

   private:
    const PVec& list_;
    std::size_t at_ = static_cast<std::size_t>(-1);
    const typename PVec::Chunk* chunk_ = nullptr;
    std::shared_ptr<const typename PVec::Chunk> held_;
  };

  // The list as bytes: its full chunks go to the sink, if there is one. encode(out, item) writes one.
  template <typename Encode>
  void save(std::string& out, PartSink* sink, Encode&& encode) const {
    const std::size_t full = sink == nullptr ? 0 : size_ / kChunk;
    put_plain(out, size_);
    put_plain(out, full);
    for (std::size_t number = 0; number < full; ++number) put_plain(out, save_chunk(number, *sink, encode));
    each(full * kChunk, size_, [&](std::size_t, const T& item) { encode(out, item); });
  }

  // Into an empty list. False if the bytes are no list, or one whose parts are not there.
  bool load(std::string_view& in, const std::shared_ptr<Parts>& parts, Decode decode) {
    std::size_t size = 0, full = 0;
    if (!take_plain(in, size) || !take_plain(in, full)) return false;
    if (full > in.size() / sizeof(PartKey) || full > size / kChunk || (full > 0 && parts == nullptr)) return false;
    if (full > 0) {
      auto saved = std::make_shared<Saved>(parts, decode);
      saved->keys.resize(full);
      for (PartKey& key : saved->keys) {
        if (!take_plain(in, key) || !parts->may_have(key)) return false;
      }
      saved_ = std::move(saved);
      size_ = full * kChunk;
    }
    for (std::size_t left = size - size_; left > 0; --left) {
      T item{};
      if (!decode(in, item)) return false;
      push_back(std::move(item));
    }
    return true;
  }

 private:
  struct Chunk {
    std::atomic<std::size_t> used{0};
    mutable std::atomic<PartKey> key{0};  // of a full one that was saved
    std::array<T, kChunk> items{};
  };

  // The first chunks of a list that was loaded.
  struct Saved {
    Saved(std::shared_ptr<Parts> from, Decode how) : parts(std::move(from)), decode(std::move(how)) {}

    std::shared_ptr<const Chunk> read(std::size_t number) const {
      {
        const std::lock_guard lock(mutex);
        if (const auto it = at_hand.find(number); it != at_hand.end()) return it->second;
      }
      auto chunk = std::make_shared<Chunk>();
      const std::string bytes = parts->read(keys[number]);
      std::string_view in = bytes;
      for (T& item : chunk->items) {
        if (!decode(in, item)) throw PartLost{Error(ErrorCode::CORRUPT, "a part of a saved state has another shape")};
      }
      return chunk;
    }
    const Chunk& kept(std::size_t number) const {
      auto chunk = read(number);
      const std::lock_guard lock(mutex);
      return *at_hand.emplace(number, std::move(chunk)).first->second;
    }

    const std::shared_ptr<Parts> parts;
    const Decode decode;
    std::vector<PartKey> keys;
    mutable std::mutex mutex;
    mutable std::map<std::size_t, std::shared_ptr<const Chunk>> at_hand;
  };

  bool is_saved(std::size_t number) const { return saved_ != nullptr && number < saved_->keys.size(); }

  const Chunk& in_memory(std::size_t number) const {
    if (number == (size_ - 1) / kChunk) return *tail_;
    return **chunks_.find(static_cast<std::uint32_t>(number));
  }

  // `held` keeps a chunk that was read for the caller.
  const Chunk& chunk(std::size_t number, std::shared_ptr<const Chunk>& held) const {
    if (!is_saved(number)) return in_memory(number);
    held = saved_->read(number);
    return *held;
  }

  template <typename Encode>
  PartKey save_chunk(std::size_t number, PartSink& sink, Encode&& encode) const {
    if (is_saved(number)) {
      const PartKey key = saved_->keys[number];
      if (!sink.has(key)) sink.put(key, saved_->parts->read(key));
      return key;
    }
    const Chunk& chunk = in_memory(number);
    if (const PartKey known = chunk.key.load(std::memory_order_relaxed); known != 0 && sink.has(known)) return known;
    std::string bytes;
    for (const T& item : chunk.items) encode(bytes, item);
    const PartKey key = part_key(bytes);
    if (!sink.has(key)) sink.put(key, bytes);
    chunk.key.store(key, std::memory_order_relaxed);
    return key;
  }

  std::shared_ptr<const Saved> saved_;                  // null: nothing was loaded
  PMap<std::uint32_t, std::shared_ptr<Chunk>> chunks_;  // those behind
  std::shared_ptr<Chunk> tail_;
  std::size_t size_ = 0;
};

}  // namespace weir
