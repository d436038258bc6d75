// The program's version, as the build says it.
#pragma once

namespace weir::cli {

inline constexpr const char* kVersion = WEIR_VERSION;

}  // namespace weir::cli
