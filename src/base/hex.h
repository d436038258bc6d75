// Lower-case hex, both ways.
#pragma once

#include <string>
#include <string_view>

namespace weir {

std::string encode_hex(std::string_view bytes);

// Writes hex.size() / 2 bytes; false on an odd length or anything but 0-9a-f.
bool decode_hex(std::string_view hex, unsigned char* out);

}  // namespace weir
