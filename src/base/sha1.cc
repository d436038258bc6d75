#include "base/sha1.h"

// The plain functions, as in sha256.cc.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

#include "base/check.h"
#include "base/hex.h"

namespace weir {
namespace {

static_assert(sizeof(SHA_CTX) <= 96 && std::is_trivially_copyable_v<SHA_CTX>);

SHA_CTX* context(std::array<unsigned char, 96>& state) { return reinterpret_cast<SHA_CTX*>(state.data()); }

}  // namespace

Sha1::Sha1() { WEIR_CHECK(SHA1_Init(context(state_)) == 1); }

Sha1& Sha1::update(std::string_view bytes) {
  WEIR_CHECK(SHA1_Update(context(state_), bytes.data(), bytes.size()) == 1);
  return *this;
}

std::string Sha1::finish_hex() {
  unsigned char digest[SHA_DIGEST_LENGTH];
  WEIR_CHECK(SHA1_Final(digest, context(state_)) == 1);
  WEIR_CHECK(SHA1_Init(context(state_)) == 1);
  return encode_hex({reinterpret_cast<const char*>(digest), sizeof digest});
}

std::string sha1_hex(std::string_view bytes) { return Sha1().update(bytes).finish_hex(); }

}  // namespace weir
