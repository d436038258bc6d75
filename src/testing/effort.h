// How hard a test tries. Under a sanitizer everything takes many times as long: there the same tests look at a share.
#pragma once

#include <cstddef>

namespace weir::testing {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

// One in so many.
constexpr std::size_t one_in(std::size_t sanitized) { return kSanitized ? sanitized : 1; }

}  // namespace weir::testing
