// Results in tests: the value or a loud end of the test, codes and details as text.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/result.h"

namespace weir::testing {

// Throws, which ends a test with code, message and details.
[[noreturn]] void fail_with(const Error& error);

template <typename T>
T must(Result<T> result) {
  if (!result.ok()) fail_with(result.error());
  if constexpr (!std::is_void_v<T>) return std::move(result).value();
}

// "OK", or the name of the error's code.
template <typename T>
std::string code(const Result<T>& result) {
  return result.ok() ? "OK" : std::string(info(result.error().code()).name);
}

// A detail as text: null as "null", "(none)" if it is not there.
std::string detail(const Error& error, std::string_view key);

}  // namespace weir::testing
