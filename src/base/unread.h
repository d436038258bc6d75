// Has the other side taken what was written to a descriptor?
#pragma once

#include <cstdint>

namespace weir {

// Bytes that were written and not taken: of a pipe or a socket of this machine not read, of TCP not acknowledged. INT_MAX if some were
// thrown away unread, as by /dev/null or another device. 0 for anything else: what is in a file or on a terminal is there. Any thread; does
// not wait.
int unread_bytes(int descriptor);

// Waits until there are none; false if that takes longer.
bool wait_until_read(int descriptor, int most_ms);

// What of all that was sent over a connection the program at the other end has read. Only of a program on this machine the system can
// say so. What is acknowledged says nothing of an open connection: the other end's kernel does that.
enum class PeerRead { all, not_all, unknown };

// Opens a socket to ask the system by; one thread at a time.
class PeerReads {
 public:
  PeerReads();
  ~PeerReads();
  PeerReads(const PeerReads&) = delete;
  PeerReads& operator=(const PeerReads&) = delete;
  // `sent`: how many bytes were sent since it began.
  PeerRead look(int socket, std::uint64_t sent);

 private:
  const int descriptor_;
  std::uint32_t asked_ = 0;
};

}  // namespace weir
