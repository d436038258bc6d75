#include "base/ed25519.h"

#include <openssl/evp.h>

#include <memory>

#include "base/check.h"

namespace weir {
namespace {

struct Free {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using Key = std::unique_ptr<EVP_PKEY, Free>;
using Context = std::unique_ptr<EVP_MD_CTX, Free>;

const unsigned char* bytes(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }
unsigned char* bytes(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

// Any 32 bytes are a key.
Key private_key(std::string_view key) {
  WEIR_CHECK(key.size() == kEd25519KeyBytes);
  Key out(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, bytes(key), key.size()));
  WEIR_CHECK(out != nullptr);
  return out;
}

}  // namespace

std::string ed25519_public(std::string_view key) {
  std::string out(kEd25519KeyBytes, '\0');
  std::size_t size = out.size();
  WEIR_CHECK(EVP_PKEY_get_raw_public_key(private_key(key).get(), bytes(out), &size) == 1 && size == out.size());
  return out;
}

std::string ed25519_sign(std::string_view key, std::string_view message) {
  const Key with = private_key(key);
  const Context context(EVP_MD_CTX_new());
  std::string out(kEd25519SignatureBytes, '\0');
  std::size_t size = out.size();
  WEIR_CHECK(context != nullptr && EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, with.get()) == 1);
  WEIR_CHECK(EVP_DigestSign(context.get(), bytes(out), &size, bytes(message), message.size()) == 1 && size == out.size());
  return out;
}

bool ed25519_verify(std::string_view public_key, std::string_view message, std::string_view signature) {
  if (public_key.size() != kEd25519KeyBytes || signature.size() != kEd25519SignatureBytes) return false;
  const Key with(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes(public_key), public_key.size()));
  const Context context(EVP_MD_CTX_new());
  WEIR_CHECK(context != nullptr);
  return with != nullptr && EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, with.get()) == 1 &&
         EVP_DigestVerify(context.get(), bytes(signature), signature.size(), bytes(message), message.size()) == 1;
}

}  // namespace weir
