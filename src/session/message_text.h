// The text of a message, as what it is compared by: a hash, because it may be a blob.
#pragma once

#include <optional>
#include <string>

#include "json/value.h"

namespace weir {

// SHA-256 in hex of the string, or of the text blocks joined without a separator. Nothing where that cannot be told: several
// blocks with a blob among them.
std::optional<std::string> content_sha256(const json::Value& content);

}  // namespace weir
