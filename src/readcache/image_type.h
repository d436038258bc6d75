// Images by their first bytes.
#pragma once

#include <optional>
#include <string_view>

namespace weir {

// The MIME type of a PNG, JPEG, GIF, WebP or BMP file that begins like this (30 bytes tell them all).
std::optional<std::string_view> image_type(std::string_view head);

}  // namespace weir
