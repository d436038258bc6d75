#include "base/sha256.h"

// The plain functions instead of EVP: a state that is copied as bytes costs 70 ns for a short text, EVP's contexts live
// on the heap and cost 250. They are deprecated in OpenSSL 3 for what EVP can do besides, none of which is used here.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

#include <cstring>

#include "base/hex.h"
#include "base/secrets.h"
#include "base/utf8.h"

namespace weir {
namespace {

static_assert(sizeof(SHA256_CTX) <= 112 && std::is_trivially_copyable_v<SHA256_CTX>);

SHA256_CTX* context(std::array<unsigned char, 112>& state) { return reinterpret_cast<SHA256_CTX*>(state.data()); }

}  // namespace

Result<Digest> Digest::parse(std::string_view hex) {
  std::array<unsigned char, 32> bytes;
  if (hex.size() != 64 || !decode_hex(hex, bytes.data())) {
    return Error(ErrorCode::INVALID_FIELD, "a digest is 64 lower-case hex digits, not '" + masked_excerpt(hex, 80) + "'");
  }
  return Digest(bytes);
}

Result<Digest> Digest::from_bytes(std::string_view raw) {
  if (raw.size() != 32) return Error(ErrorCode::CORRUPT, "a digest has 32 bytes, not " + std::to_string(raw.size()));
  Digest digest;
  std::memcpy(digest.bytes_.data(), raw.data(), 32);
  return digest;
}

std::string Digest::hex() const { return encode_hex(bytes()); }

std::uint64_t Digest::prefix64() const {
  std::uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value = value << 8 | bytes_[i];
  return value;
}

Sha256::Sha256() { WEIR_CHECK(SHA256_Init(context(state_)) == 1); }

Sha256& Sha256::update(std::string_view bytes) {
  WEIR_CHECK(SHA256_Update(context(state_), bytes.data(), bytes.size()) == 1);
  return *this;
}

Digest Sha256::finish() {
  Digest digest;
  WEIR_CHECK(SHA256_Final(digest.data(), context(state_)) == 1);
  WEIR_CHECK(SHA256_Init(context(state_)) == 1);
  return digest;
}

Digest sha256(std::string_view bytes) { return Sha256().update(bytes).finish(); }

HmacKey::HmacKey(std::string_view key) {
  std::string block(key.size() > 64 ? sha256(key).bytes() : key);
  block.resize(64, '\0');
  const auto padded = [&](char pad) {
    std::string out = block;
    for (char& c : out) c = static_cast<char>(c ^ pad);
    return out;
  };
  inner_.update(padded(0x36));
  outer_.update(padded(0x5c));
}

Digest HmacKey::finish(Sha256& hash) const {
  Sha256 outer = outer_;
  return outer.update(hash.finish().bytes()).finish();
}

}  // namespace weir
