// What every fuzz target needs: the input as text, and a check that ends the run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace weir::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) { return {reinterpret_cast<const char*>(data), size}; }

// Ends the run with both values where they differ.
inline void expect_equal(const char* what, std::string_view a, std::string_view b) {
  if (a == b) return;
  std::fprintf(stderr, "%s:\n  %.*s\n  %.*s\n", what, static_cast<int>(a.size()), a.data(), static_cast<int>(b.size()), b.data());
  std::abort();
}

}  // namespace weir::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
