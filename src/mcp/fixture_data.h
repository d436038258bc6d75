// A picture and a sound that are as small as they can be, in base64.
#pragma once

#include <string_view>

namespace weir::mcp {

// One red pixel.
inline constexpr std::string_view kFixturePng =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC";
// One wave in eight samples.
inline constexpr std::string_view kFixtureWav = "UklGRjQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YRAAAAAAAP8fQS3/HwAAAeC/0gHg";

}  // namespace weir::mcp
