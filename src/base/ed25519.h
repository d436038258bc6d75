// Ed25519 (RFC 8032): a key is 32 bytes of chance, its public half 32 bytes, a signature 64.
#pragma once

#include <string>
#include <string_view>

namespace weir {

inline constexpr std::size_t kEd25519KeyBytes = 32, kEd25519SignatureBytes = 64;

std::string ed25519_public(std::string_view key);
std::string ed25519_sign(std::string_view key, std::string_view message);
// False for anything that is no signature of the message by that key.
bool ed25519_verify(std::string_view public_key, std::string_view message, std::string_view signature);

}  // namespace weir
