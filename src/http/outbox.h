// What is to be written to a connection, in pieces; some belong to a stream, which hears when they are gone.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "http/mailbox.h"

namespace weir::http {

class Outbox {
 public:
  bool empty() const { return pieces_.empty(); }
  void add(std::string bytes);
  // A part of a stream, as one chunk if it is chunked.
  void add_part(Letter& letter, bool chunked);

  enum class Wrote { all, some, nothing, failed };
  Wrote write(int descriptor);
  std::uint64_t added() const { return added_; }  // bytes in all
  std::size_t bytes() const { return bytes_; }    // that are not written

 private:
  struct Piece {
    std::string own;
    std::shared_ptr<const std::string> shared;
    std::shared_ptr<Flow> flow;  // hears of `credit` bytes
    std::size_t credit = 0;
    std::string_view view() const { return shared ? std::string_view(*shared) : std::string_view(own); }
  };
  void push(Piece piece);
  void drop(std::size_t bytes);

  std::deque<Piece> pieces_;
  std::size_t offset_ = 0;  // of the first one
  std::uint64_t added_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace weir::http
