// WEIR_CHECK stays on in release: a false one is a bug in Weir, never bad input.
#pragma once

namespace weir {

[[noreturn]] void check_failed(const char* expression, const char* file, int line);

}  // namespace weir

#define WEIR_CHECK(expression) (static_cast<bool>(expression) ? void(0) : ::weir::check_failed(#expression, __FILE__, __LINE__))
