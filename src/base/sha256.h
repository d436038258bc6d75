// SHA-256 and the 32-byte Digest it gives. Hashing never fails.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weir {

class Digest {
 public:
  Digest() = default;
  explicit Digest(const std::array<unsigned char, 32>& bytes) : bytes_(bytes) {}

  static Result<Digest> parse(std::string_view hex);         // 64 lower-case hex digits
  static Result<Digest> from_bytes(std::string_view bytes);  // 32 raw bytes

  std::string hex() const;
  std::string_view bytes() const { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }
  unsigned char* data() { return bytes_.data(); }
  // The first eight bytes, big-endian: what an entry pointer shows.
  std::uint64_t prefix64() const;

  auto operator<=>(const Digest&) const = default;

 private:
  std::array<unsigned char, 32> bytes_{};
};

// A running hash. Copying one forks it, so a common beginning is hashed once.
class Sha256 {
 public:
  Sha256();
  Sha256& update(std::string_view bytes);
  Digest finish();  // the hash starts again afterwards

 private:
  alignas(8) std::array<unsigned char, 112> state_;
};

Digest sha256(std::string_view bytes);

// HMAC-SHA-256 (RFC 2104) as a running hash: begin() has taken the key, finish() wraps what followed.
class HmacKey {
 public:
  explicit HmacKey(std::string_view key);
  Sha256 begin() const { return inner_; }
  Digest finish(Sha256& hash) const;

 private:
  Sha256 inner_, outer_;
};

}  // namespace weir
