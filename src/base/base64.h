// Base64 of RFC 4648, padded.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir {

std::string encode_base64(std::string_view bytes);
// Nothing for text that encode_base64 would not write: white space, other alphabets, wrong padding, bits past the end.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace weir
