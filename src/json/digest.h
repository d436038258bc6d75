// digest(domain, value) = SHA-256(domain, 0x00, canonical(value)). The domains stand here and nowhere else; a change
// of any hash rule makes a new version of its domain.
#pragma once

#include <string_view>

#include "base/sha256.h"
#include "json/value.h"

namespace weir::json {

enum class Domain {
  entry,  // {"body","parent","type"}, store/entry.h
};

std::string_view name(Domain domain);

// A hash that has taken the domain and the zero byte.
Sha256 begin(Domain domain);

Digest digest_text(Domain domain, std::string_view canonical_text);
Digest digest(Domain domain, const Value& value);

}  // namespace weir::json
