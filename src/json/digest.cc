#include "json/digest.h"

#include "json/canonical.h"

namespace weir::json {
namespace {

constexpr std::string_view kNames[] = {"weir.entry.v1"};

}  // namespace

std::string_view name(Domain domain) { return kNames[static_cast<int>(domain)]; }

Sha256 begin(Domain domain) {
  Sha256 hash;
  hash.update(name(domain)).update(std::string_view("\0", 1));
  return hash;
}

Digest digest_text(Domain domain, std::string_view canonical_text) { return begin(domain).update(canonical_text).finish(); }
Digest digest(Domain domain, const Value& value) { return digest_text(domain, canonical(value)); }

}  // namespace weir::json
