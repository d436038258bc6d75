#include "api/cursor.h"

#include <algorithm>

#include "base/base64.h"

namespace weir::api {
namespace {

constexpr std::size_t kTagBytes = 16;

std::string tag_of(std::string_view kind, std::string_view payload, const Digest& key) {
  const HmacKey hmac(key.bytes());
  Sha256 hash = hmac.begin();
  // The length parts the two, so that no kind and payload look like others.
  hash.update("weir.cursor.v1\n").update(std::to_string(kind.size())).update("\n").update(kind).update(payload);
  return std::string(hmac.finish(hash).bytes().substr(0, kTagBytes));
}

// Base64 as it may stand in a query: - and _ for + and /, no padding.
std::string to_query(std::string text) {
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  text.erase(std::find(text.begin(), text.end(), '='), text.end());
  return text;
}

std::optional<std::string> from_query(std::string_view cursor) {
  std::string text(cursor);
  if (text.find_first_of("+/=") != std::string::npos) return std::nullopt;
  std::replace(text.begin(), text.end(), '-', '+');
  std::replace(text.begin(), text.end(), '_', '/');
  text.append((4 - text.size() % 4) % 4, '=');
  return decode_base64(text);
}

bool same(std::string_view a, std::string_view b) {
  unsigned char differs = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) differs |= static_cast<unsigned char>(a[i] ^ b[i]);
  return differs == 0;
}

}  // namespace

Digest new_cursor_key(Random& random) {
  std::array<unsigned char, 32> bytes;
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    const std::uint64_t number = random.next();
    for (std::size_t j = 0; j < 8; ++j) bytes[i + j] = static_cast<unsigned char>(number >> (8 * j));
  }
  return Digest(bytes);
}

std::string make_cursor(std::string_view kind, std::string_view payload, const Digest& key) {
  return to_query(encode_base64(tag_of(kind, payload, key) + std::string(payload)));
}

Result<std::string> read_cursor(std::string_view kind, std::string_view cursor, const Digest& key) {
  const auto bytes = from_query(cursor);
  if (bytes && bytes->size() >= kTagBytes) {
    const std::string payload = bytes->substr(kTagBytes);
    if (same(bytes->substr(0, kTagBytes), tag_of(kind, payload, key))) return payload;
  }
  const std::string why = "is none that this list gave";
  return Error(ErrorCode::INVALID_FIELD, "/cursor: " + why).with_fields({{"/cursor", why}});
}

}  // namespace weir::api
