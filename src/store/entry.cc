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
  std::string rest = ",\"parent\":";
  if (parent) {
    rest.append(1, '"').append(parent->hex()).append(1, '"');
  } else {
    rest += "null";
  }
  rest += ",\"type\":";
  json::write_string(type, rest);
  rest += '}';
  Sha256 hash = hash_;
  return hash.update(rest).finish();
}

Digest entry_digest(const std::optional<Digest>& parent, std::string_view type, std::string_view canonical_body) {
  return BodyHash(canonical_body).finish(parent, type);
}

std::string entry_pointer(const Digest& digest, std::size_t hex_digits) { return "e" + digest.hex().substr(0, hex_digits); }

bool derived_id(std::string_view id, const Digest& digest) {
  return id.size() >= 9 && id.size() <= 65 && id[0] == 'e' && digest.hex().starts_with(id.substr(1));
}

}  // namespace weir
