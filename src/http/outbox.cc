#include "http/outbox.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>

namespace weir::http {
namespace {

constexpr std::size_t kMostPieces = 64;  // in one call

}  // namespace

void Outbox::push(Piece piece) {
  added_ += piece.view().size();
  bytes_ += piece.view().size();
  pieces_.push_back(std::move(piece));
}

void Outbox::add(std::string bytes) {
  if (!bytes.empty()) push({std::move(bytes), nullptr, nullptr, 0});
}

void Outbox::add_part(Letter& letter, bool chunked) {
  const std::size_t size = letter.shared ? letter.shared->size() : letter.body.size();
  if (chunked) push({fmt::format("{:x}\r\n", size), nullptr, nullptr, 0});
  push({std::move(letter.body), std::move(letter.shared), letter.flow, size});
  if (chunked) push({"\r\n", nullptr, nullptr, 0});
}

Outbox::Wrote Outbox::write(int descriptor) {
  bool some = false;
  while (!pieces_.empty()) {
    iovec parts[kMostPieces];
    std::size_t count = 0, offset = offset_;
    for (const Piece& piece : pieces_) {
      const std::string_view rest = piece.view().substr(offset);
      parts[count++] = {const_cast<char*>(rest.data()), rest.size()};
      offset = 0;
      if (count == kMostPieces) break;
    }
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = count;
    const auto sent = ::sendmsg(descriptor, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return some ? Wrote::some : Wrote::nothing;
    if (sent < 0) return Wrote::failed;
    some = true;
    bytes_ -= static_cast<std::size_t>(sent);
    drop(static_cast<std::size_t>(sent));
  }
  return Wrote::all;
}

void Outbox::drop(std::size_t bytes) {
  while (!pieces_.empty()) {
    Piece& first = pieces_.front();
    const std::size_t rest = first.view().size() - offset_;
    if (bytes < rest) {
      offset_ += bytes;
      return;
    }
    bytes -= rest;
    offset_ = 0;
    if (first.flow) first.flow->written(first.credit);
    pieces_.pop_front();
  }
}

}  // namespace weir::http
