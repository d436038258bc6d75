#include "store/entry.h"

#include "json/canonical.h"
#include "json/digest.h"

namespace weir {
namespace {

const Sha256& after_domain() {
  static const Sha256 begun = [] {
    Sha256 hash = json::begin(json::Domain::entry);
    hash.update("{\"body\":");
    return hash;
  }();
  return begun;
}

}  // namespace

BodyHash::BodyHash(std::string_view canonical_body) : hash_(after_domain()) { hash_.update(canonical_body); }

Digest BodyHash::finish(const std::optional<Digest>& parent, std::string_view type) const {
  Sha256 hash = hash_;
  if (parent) {
    hash.update(",\"parent\":\"").update(parent->hex()).update("\",\"type\":");
  } else {
    hash.update(",\"parent\":null,\"type\":");
  }
  std::string end;
  json::write_string(type, end);
  return hash.update(end += '}').finish();
}

Digest entry_digest(const std::optional<Digest>& parent, std::string_view type, std::string_view canonical_body) {
  return BodyHash(canonical_body).finish(parent, type);
}

std::string entry_pointer(const Digest& digest, std::size_t hex_digits) { return "e" + digest.hex().substr(0, hex_digits); }

bool derived_id(std::string_view id, const Digest& digest) {
  if (id.size() < 9 || id.size() > 65 || id[0] != 'e') return false;
  // Asked of every row that is read: digit by digit, without making the text of the digest.
  const std::string_view bytes = digest.bytes();
  for (std::size_t i = 1; i < id.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[(i - 1) / 2]);
    if (id[i] != "0123456789abcdef"[i % 2 == 1 ? byte >> 4 : byte & 15]) return false;
  }
  return true;
}

}  // namespace weir
