// Keys and values of a URL's query, and which keys hold secrets.
#pragma once

#include <string>
#include <string_view>

namespace weir::research {

// Upstream's word, because it is part of what is hashed.
inline constexpr std::string_view kRedactedValue = "[REDACTED]";

// `+` is a space, `%XX` a byte; what is no UTF-8 then becomes U+FFFD as the Encoding Standard says.
std::string form_decoded(std::string_view raw);
// Only bytes that stand for themselves, decoded and encoded?
bool is_form_plain(std::string_view text);
// Every byte but `A-Za-z0-9-_.!~*'()` as `%XX`.
void append_form_encoded(std::string& out, std::string_view text);

// Where the last part of an encoded key begins that makes its value a secret; npos for none. Parts stand between `_`, `-`, `.`.
std::size_t last_secret_part(std::string_view raw_key);
// The same for its first part alone, however long the key is.
bool first_part_is_secret(std::string_view raw_key);

}  // namespace weir::research
